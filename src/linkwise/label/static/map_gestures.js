// Pointer, wheel and keys of the map, turned into what they mean. Positions are CSS pixels
// from the upper left corner of the map.

const CLICK_PIXELS = 4; // a pointer that moves less has clicked
const LASSO_STEP = 2; // pixels between corners of a lasso
const KEY_ZOOM = 1.4;
const KEY_PAN = 0.12; // of the map's width or height

/**
 * Listen on the host until the signal aborts.
 *
 * `act` has pan(right, down), zoom(factor, x, y), reset(), hover(x, y), leave(), click(x, y),
 * startLasso(), growLasso(x, y), endLasso(), cancelLasso(), lassoMode() -> boolean.
 */
export function listen(host, signal, act) {
  let drag = null; // { id, lasso, startX, startY, x, y, moved }

  const on = (type, handle, options = {}) => {
    host.addEventListener(type, handle, { signal, ...options });
  };
  const place = (event) => {
    const box = host.getBoundingClientRect();
    return [event.clientX - box.left - host.clientLeft, event.clientY - box.top - host.clientTop];
  };
  const end = () => {
    if (drag?.lasso) act.cancelLasso();
    drag = null;
  };

  on("pointerdown", (event) => {
    if (drag || event.button !== 0) return;
    const [x, y] = place(event);
    const lasso = act.lassoMode() || event.shiftKey;
    drag = { id: event.pointerId, lasso, startX: x, startY: y, x, y, moved: false };
    host.setPointerCapture(event.pointerId);
    if (lasso) {
      act.startLasso();
      act.growLasso(x, y);
      event.preventDefault(); // shift would select text
      host.focus({ preventScroll: true });
    }
  });

  on("pointermove", (event) => {
    const [x, y] = place(event);
    if (!drag) {
      act.hover(x, y);
      return;
    }
    if (event.pointerId !== drag.id) return;
    drag.moved ||= Math.hypot(x - drag.startX, y - drag.startY) >= CLICK_PIXELS;
    if (!drag.moved) return;
    if (drag.lasso) {
      // The browser joins moves within a frame; a quick hand's lasso needs them all.
      const moves = event.getCoalescedEvents?.() ?? [];
      for (const move of moves.length > 0 ? moves : [event]) {
        const [nextX, nextY] = place(move);
        if (Math.hypot(nextX - drag.x, nextY - drag.y) < LASSO_STEP) continue;
        act.growLasso(nextX, nextY);
        [drag.x, drag.y] = [nextX, nextY];
      }
    } else {
      act.pan(x - drag.x, y - drag.y);
      [drag.x, drag.y] = [x, y];
    }
  });

  on("pointerup", (event) => {
    if (!drag || event.pointerId !== drag.id) return;
    const { lasso, moved, startX, startY } = drag;
    if (!moved) end();
    drag = null;
    if (!moved) act.click(startX, startY);
    else if (lasso) act.endLasso();
  });

  on("pointercancel", end);
  on("pointerleave", () => act.leave());

  on(
    "wheel",
    (event) => {
      event.preventDefault();
      const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
      // A pinch on a touchpad comes as a wheel with ctrl and small steps.
      const speed = event.ctrlKey ? 0.01 : 0.002;
      act.zoom(Math.exp(-speed * Math.max(Math.min(pixels, 400), -400)), ...place(event));
    },
    { passive: false },
  );

  on("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const right = KEY_PAN * host.clientWidth;
    const down = KEY_PAN * host.clientHeight;
    const deeds = {
      "+": () => act.zoom(KEY_ZOOM),
      "=": () => act.zoom(KEY_ZOOM),
      "-": () => act.zoom(1 / KEY_ZOOM),
      0: () => act.reset(),
      ArrowLeft: () => act.pan(right, 0),
      ArrowRight: () => act.pan(-right, 0),
      ArrowUp: () => act.pan(0, down),
      ArrowDown: () => act.pan(0, -down),
    };
    if (drag?.lasso) deeds.Escape = end;
    const deed = Object.hasOwn(deeds, event.key) ? deeds[event.key] : null;
    if (!deed) return;
    deed();
    event.preventDefault();
    event.stopPropagation(); // the page has keys of its own
  });
}
