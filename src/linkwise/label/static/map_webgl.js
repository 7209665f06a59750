// Points by WebGL2: one draw call for all of them, a second one for those selected.

import { OUTLINE_MIX, REACH } from "./map_look.js";

const PALETTE_WIDTH = 256;
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

const VERTEX = `#version 300 es
precision highp float;
precision highp int;
layout(location = 0) in vec2 position;
layout(location = 1) in uint label;
uniform vec2 centre, scale;
uniform float radius;
uniform int nColors;
uniform bool muted;
uniform vec3 mutedColor;
uniform highp sampler2D palette;
flat out vec3 fill;
flat out int shape;

void main() {
  fill = mutedColor;
  shape = 0;
  if (int(label) < nColors) {
    int k = int(label);
    vec4 entry = texelFetch(palette, ivec2(k % ${PALETTE_WIDTH}, k / ${PALETTE_WIDTH}), 0);
    shape = int(entry.a * 255.0 + 0.5);
    if (!muted) fill = entry.rgb;
  }
  gl_Position = vec4((position - centre) * scale, 0.0, 1.0);
  gl_PointSize = 2.0 * (${REACH} * radius + 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
flat in vec3 fill;
flat in int shape;
uniform float radius, outline, opacity;
uniform vec3 ink;
out vec4 color;

float distanceTo(int shape, vec2 p) {
  vec2 a = abs(p);
  if (shape == 1) return max(a.x, a.y) - 0.88;
  if (shape == 2) return max(-p.y, 0.866 * a.x + 0.5 * p.y) - 0.68;
  if (shape == 3) return 0.7071 * (a.x + a.y) - 0.88;
  if (shape == 4) return max(min(a.x, a.y) - 0.42, max(a.x, a.y) - 1.15);
  if (shape == 5) return max(p.y, 0.866 * a.x - 0.5 * p.y) - 0.68;
  return length(p) - 1.0;
}

void main() {
  vec2 p = (gl_PointCoord * 2.0 - 1.0) * (${REACH} * radius + 1.0) / radius;
  float pixels = radius * distanceTo(shape, vec2(p.x, -p.y));
  float cover = clamp(0.5 - pixels, 0.0, 1.0);
  if (cover == 0.0) discard;
  float inner = outline > 0.0 ? clamp(0.5 - pixels - outline, 0.0, 1.0) : 1.0;
  color = vec4(mix(mix(fill, ink, ${OUTLINE_MIX}), fill, inner), cover * opacity);
}`;

export class WebGLPoints {
  /** Throws where there is no WebGL2, or none by a graphics card if it must be one. */
  constructor(byCard) {
    this.canvas = document.createElement("canvas");
    const options = { alpha: false, antialias: false, depth: false };
    options.failIfMajorPerformanceCaveat = byCard;
    this.gl = this.canvas.getContext("webgl2", options);
    if (!this.gl) throw new Error("This browser has no WebGL2.");
    if (byCard && SOFTWARE.test(rendererOf(this.gl))) {
      this.destroy();
      throw new Error("This browser has no graphics card.");
    }
    this.restore();
  }

  /** Make everything that lives in the context, also after it was lost. */
  restore() {
    const gl = this.gl;
    this.program = link(gl);
    this.uniforms = {};
    const count = gl.getProgramParameter(this.program, gl.ACTIVE_UNIFORMS);
    for (let k = 0; k < count; k++) {
      const { name } = gl.getActiveUniform(this.program, k);
      this.uniforms[name] = gl.getUniformLocation(this.program, name);
    }
    this.positions = gl.createBuffer();
    this.labels = gl.createBuffer();
    this.selected = gl.createBuffer();
    this.palette = gl.createTexture();
    this.layout = gl.createVertexArray();
    gl.bindVertexArray(this.layout);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.positions);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.UNSIGNED_SHORT, false, 4, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.labels);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribIPointer(1, 1, gl.UNSIGNED_SHORT, 2, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.selected);
  }

  /** Send what has changed in the scene: "points", "labels", "palette", "selection". */
  update(scene, changed) {
    const gl = this.gl;
    this.n = scene.labels.length;
    this.nSelected = scene.selection.length;
    gl.bindVertexArray(this.layout);
    if (changed.has("points")) fill(gl, gl.ARRAY_BUFFER, this.positions, scene.xy);
    if (changed.has("labels")) fill(gl, gl.ARRAY_BUFFER, this.labels, scene.labels);
    if (changed.has("selection")) {
      fill(gl, gl.ELEMENT_ARRAY_BUFFER, this.selected, scene.selection);
    }
    if (changed.has("palette")) this.#sendPalette(scene.palette);
  }

  #sendPalette(bytes) {
    const gl = this.gl;
    this.nColors = bytes.length / 4;
    const height = Math.max(Math.ceil(this.nColors / PALETTE_WIDTH), 1);
    const padded = new Uint8Array(4 * PALETTE_WIDTH * height);
    padded.set(bytes);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    const format = [gl.RGBA, gl.UNSIGNED_BYTE];
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, PALETTE_WIDTH, height, 0, ...format, padded);
  }

  draw(frame) {
    const { gl, uniforms } = this;
    const { view, colors } = frame;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...unit(colors.background), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.n === 0) return;
    gl.useProgram(this.program);
    gl.bindVertexArray(this.layout);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform2f(uniforms.centre, view.centreX, view.centreY);
    gl.uniform2f(uniforms.scale, (2 * view.scale) / view.width, (2 * view.scale) / view.height);
    gl.uniform1f(uniforms.radius, frame.radius);
    gl.uniform1f(uniforms.outline, frame.outline);
    gl.uniform1i(uniforms.nColors, this.nColors);
    gl.uniform3f(uniforms.mutedColor, ...unit(colors.muted));
    gl.uniform3f(uniforms.ink, ...unit(colors.ink));
    const anySelected = this.nSelected > 0;
    gl.uniform1i(uniforms.muted, anySelected ? 1 : 0);
    gl.uniform1f(uniforms.opacity, anySelected ? frame.fadedOpacity : frame.opacity);
    gl.drawArrays(gl.POINTS, 0, this.n);
    if (anySelected) {
      gl.uniform1i(uniforms.muted, 0);
      gl.uniform1f(uniforms.opacity, frame.opacity);
      gl.drawElements(gl.POINTS, this.nSelected, gl.UNSIGNED_INT, 0);
    }
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext(); // browsers keep but a few
  }
}

function link(gl) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`The shaders of the map do not link: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}

/** Who draws, as far as the browser tells. */
function rendererOf(gl) {
  const details = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(details ? details.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}

function fill(gl, target, buffer, data) {
  gl.bindBuffer(target, buffer);
  gl.bufferData(target, data, gl.STATIC_DRAW);
}

function unit(color) {
  return color.map((value) => value / 255);
}
