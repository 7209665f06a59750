"""The style of a report, after that of all pages."""

REPORT_STYLE = """
header h1 { margin-bottom: 0.25rem; } header .note { margin: 0.1rem 0; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.3rem; }
h4 { margin: 1rem 0 0.3rem; font-size: 0.95rem; color: var(--faint);
     font-weight: 600; }
figure { margin: 1rem 0; }
figure img { border-radius: 6px; vertical-align: top; }
.map { display: grid; gap: 0 1.5rem; align-items: start;
       grid-template-columns: minmax(0, 46rem) minmax(12rem, 1fr); }
.large img { width: 100%; }
.map .legend { flex-direction: column; }
.small img { width: 100%; max-width: 34rem; }
.plainly, .rows, .legend, .pairs { padding: 0; list-style: none; }
.plainly { font-size: 1.1rem; } .plainly li { margin: 0.35rem 0; }
.advice li { margin: 0.5rem 0; padding-left: 0.25rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.25rem; font-size: 0.9rem; }
.key { width: 1em; height: 1em; vertical-align: -0.12em; overflow: visible; }
.key.must, .key.cannot { width: 1.7em; height: 0.65em; vertical-align: 0.05em; }
.key.must path, .key.cannot path { fill: none; stroke: var(--faint);
  stroke-width: 1.5; }
.key.cannot.held path { stroke-dasharray: 1.5 3; }
.key.broken path { stroke: var(--broken); stroke-width: 3; }
.key.cannot.broken path { stroke-dasharray: 6 3; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
        padding: 1rem 1.25rem; margin: 1rem 0; }
.card h3 { margin: 0 0 0.6rem; font-size: 1.1rem; }
.card h3 .note, .card h3 .why { font-weight: 400; font-size: 0.95rem;
  margin-left: 0.4rem; }
.why { color: var(--broken); }
.words { overflow-wrap: anywhere; } h3 .words { margin: 0 0.4rem; }
.legend .words { display: block; margin-left: 1.3rem; color: var(--faint); }
.halves { display: grid; gap: 0.5rem 2rem;
          grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.halves h4:first-child { margin-top: 0.3rem; }
.rows li { margin: 0.4rem 0; font-size: 0.92rem; }
.cell { margin-left: 0.5rem; } .cell i { color: var(--faint); font-style: normal; }
.short { display: inline-block; }
.profile, .beside { width: 100%; table-layout: fixed; }
.profile th, .profile td, .beside th, .beside td { overflow-wrap: anywhere;
  padding: 0.2rem 0.4rem; }
.profile th:first-child { width: 36%; }
.profile .bar { width: 30%; padding: 0.2rem 0; vertical-align: middle; }
.profile tbody th, .beside tbody th { font-weight: 400; text-align: left; }
.profile thead th, .beside thead th { font-weight: 600; color: var(--faint);
  border-bottom-width: 1px; }
.profile svg { width: 100%; height: 0.85rem; display: block; }
.axis { stroke: var(--faint); stroke-width: 1; vector-effect: non-scaling-stroke;
        fill: none; }
.beside th:first-child { width: 38%; } .two th:first-child { width: 50%; }
.beside th, .beside td { text-align: left; }
.beside .differs td { font-weight: 600; }
.beside tbody tr:not(.differs) { color: var(--faint); }
.pairs { display: grid; gap: 1rem; align-items: start;
         grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.pairs .card { margin: 0; }
.pictures { columns: 26rem 2; column-gap: 2.5rem; }
.pictures > div { break-inside: avoid; } .pictures p { margin-top: 0; }
footer { margin: 3rem 0 1rem; border-top: 1px solid var(--line); padding-top: 0.5rem;
         font-size: 0.85rem; }
@media (max-width: 62rem) {
  .map { grid-template-columns: minmax(0, 46rem); }
  .map .legend { flex-direction: row; }
}
@media (max-width: 46rem) {
  body { margin: 1rem auto; } .card { padding: 0.75rem 0.9rem; }
  .halves { grid-template-columns: minmax(0, 1fr); }
  .profile, .beside { font-size: 0.82rem; }
  .profile th:first-child { width: 38%; } .profile .bar { width: 24%; }
}
@media print {
  .card { background: none; padding: 0.5rem 0.8rem; }
  .halves { grid-template-columns: 1fr 1fr; }
  .pictures { columns: 2; } .pairs { grid-template-columns: 1fr 1fr; }
  .map { grid-template-columns: 12cm 1fr; break-inside: avoid; }
  .map .legend { flex-direction: column; font-size: 0.8rem; }
  .profile, .beside { font-size: 0.8rem; }
  h2 { margin-top: 1.5rem; }
}
"""
