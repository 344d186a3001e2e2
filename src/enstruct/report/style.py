"""How pages look: two palettes and one style sheet, by the reader's choice of light or dark, and light on paper.

Colours of text have the contrast that WCAG 2 asks for at level AA (4.5 : 1) on every ground that they stand on, those of marks
in drawings 3 : 1; a test computes them. No colour says alone what it says: ties that repel are dashed as well, errors are struck
out.
"""

from __future__ import annotations

LIGHT = {
    "ground": "#fcfcfa",
    "raised": "#f3f3ef",
    "ink": "#1c2126",
    "quiet": "#565e68",
    "line": "#dcdcd6",
    "first": "#1d5f9e",
    "second": "#b0441c",
    "third": "#2f7050",
    "faint": "#8a929c",
}
DARK = {
    "ground": "#15181c",
    "raised": "#1e2227",
    "ink": "#e6e8ea",
    "quiet": "#a7afb8",
    "line": "#343a41",
    "first": "#7db4ea",
    "second": "#f09a72",
    "third": "#7fc6a0",
    "faint": "#7a828c",
}
"""Names of colours -> their values. ``ground`` and ``raised`` lie under text; ``ink``, ``quiet``, ``first`` (what is,
attraction), ``second`` (what is wrong, repulsion) and ``third`` (right) are of text and marks, ``faint`` of marks alone, ``line``
of rules."""

RULES = """
*, *::before, *::after { box-sizing: border-box; }
html { background: var(--ground); color: var(--ink); -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; }
header, nav, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.75rem; }
header { padding-top: 4rem; }
.kind { margin: 0 0 .4rem; color: var(--quiet); font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: 0; font-size: 2.1rem; line-height: 1.2; font-weight: 600; letter-spacing: -.015em; overflow-wrap: anywhere; }
.lede { max-width: 44rem; margin: 1rem 0 0; color: var(--quiet); font-size: 1.08rem; overflow-wrap: anywhere; }
.warning { max-width: 44rem; margin: 1.5rem 0 0; padding: .7rem 1rem; border-left: 3px solid var(--second);
  background: var(--raised); }
nav { margin-top: 2rem; }
nav ol { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: 0; padding: .8rem 0; list-style: none; font-size: .9rem;
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
nav ol.many { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); line-height: 1.35; }
a { color: var(--first); text-underline-offset: .2em; text-decoration-thickness: 1px; }
nav a { text-decoration: none; }
a:hover { text-decoration: underline; }
a:focus-visible, .wide:focus-visible { outline: 2px solid var(--first); outline-offset: 3px; }
section { padding-top: 3.2rem; }
h2 { margin: 0 0 .8rem; font-size: 1.4rem; line-height: 1.3; font-weight: 600; letter-spacing: -.01em; overflow-wrap: anywhere; }
h3 { margin: 2.2rem 0 .5rem; font-size: 1.02rem; font-weight: 600; overflow-wrap: anywhere; }
p { max-width: 44rem; margin: .6rem 0; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.small { font-size: .87rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 1.1rem 2rem; margin: 1.2rem 0; }
dt { color: var(--quiet); font-size: .82rem; }
dd { margin: .1rem 0 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.45; font-variant-numeric: tabular-nums; }
caption { padding-bottom: .5rem; color: var(--quiet); font-size: .87rem; text-align: left; }
th, td { padding: .42rem 1.5rem .42rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-weight: 500; font-size: .82rem; vertical-align: bottom; border-bottom-color: var(--faint); }
tbody th { min-width: 9rem; font-weight: 400; }
td, tbody th { max-width: 34rem; overflow-wrap: break-word; }
.number { text-align: right; white-space: nowrap; }
.chosen th, .chosen td { background: var(--raised); font-weight: 600; }
.chosen .range { font-weight: 400; }
.chosen th:first-child { box-shadow: inset 3px 0 0 var(--first); padding-left: .8rem; }
.range { display: block; color: var(--quiet); font-size: .8rem; }
.under { display: block; height: 16px; line-height: 0; }
.under svg { display: block; margin: 2px 0 0 auto; }
code { font: .9em/1 ui-monospace, "SF Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
ul { max-width: 44rem; padding-left: 1.2rem; }
li { margin: .25rem 0; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem 2.5rem;
  align-items: start; }
figure { margin: 1.4rem 0; }
figure svg, figure img { display: block; max-width: 100%; height: auto; }
figcaption { max-width: 44rem; margin-top: .6rem; color: var(--quiet); font-size: .87rem; }
.multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 1.4rem 1.8rem; margin: 1.4rem 0; }
.multiples figure { margin: 0; }
.cases { margin: 1.2rem 0; padding: 0; list-style: none; }
.cases > li { padding: 1rem 0; border-top: 1px solid var(--line); }
.cases h3 { margin: 0 0 .3rem; }
.cases p { margin: .25rem 0; max-width: 60rem; }
.excerpt { color: var(--ink); }
.right { color: var(--third); }
.missed { color: var(--second); text-decoration: underline dotted; text-underline-offset: .2em; }
.extra { color: var(--second); text-decoration: line-through; }
.label { white-space: nowrap; margin-right: .9em; }
.label small { color: var(--quiet); font-size: .82em; }
.tokens { line-height: 2.1; overflow-wrap: anywhere; }
.span { padding: .1em .25em; border-bottom: 2px solid var(--first); background: var(--raised); }
.span small { margin-left: .35em; color: var(--quiet); font-size: .75em; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: .8rem; max-width: 44rem; }
.pictures figure { margin: 0; }
.pictures img { width: 100%; image-rendering: pixelated; border: 1px solid var(--line); }
footer { margin-top: 4rem; padding-top: 1.2rem; padding-bottom: 4rem; color: var(--quiet); font-size: .85rem; }
footer p { margin: .2rem 0; }
svg text { fill: var(--ink); font: 11px/1 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
svg .quiet { fill: var(--quiet); }
svg .axis { stroke: var(--faint); stroke-width: 1; fill: none; }
svg .grid { stroke: var(--line); stroke-width: 1; fill: none; }
svg .even { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 3 4; fill: none; }
svg .first { stroke: var(--first); fill: none; }
svg .second { stroke: var(--second); fill: none; }
svg .of-first { fill: var(--first); }
svg .of-second { fill: var(--second); }
svg .of-third { fill: var(--third); }
svg .of-faint { fill: var(--faint); }
svg .node { fill: var(--ground); stroke: var(--ink); stroke-width: 1.2; }
@media (max-width: 40rem) {
  header, nav, main, footer { padding-left: 1rem; padding-right: 1rem; }
  header { padding-top: 2rem; }
  h1 { font-size: 1.6rem; }
}
@media print {
  @page { margin: 16mm 14mm; }
  body { font-size: 10pt; }
  header, nav, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  header { padding-top: 0; }
  nav { display: none; }
  section { padding-top: 1.6rem; }
  section.leaf { break-before: page; padding-top: 0; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .cases > li, dl > div { break-inside: avoid; }
  .wide { overflow: visible; }
  .pair { grid-template-columns: 1fr 1fr; }
  thead { display: table-header-group; }
  .chosen th, .chosen td, .warning, .span { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
"""


def style_sheet() -> str:
    """CSS of a whole page, which refers to no font, picture or sheet outside of it."""
    light, dark = (" ".join(f"--{name}: {value};" for name, value in colours.items()) for colours in (LIGHT, DARK))
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; }} }}{RULES}"
    )


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours #rrggbb as WCAG 2 defines it, from 1 to 21."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
