//! The colours of a diagram, and the style sheet of the SVG.
//!
//! Plain rules of CSS, without variables: not every viewer of SVG files knows those. Every rule is scoped by the class
//! of the root, as the picture may stand inside a page.

use alloc::format;
use alloc::string::String;

use super::Phase;

pub(super) struct Theme {
    canvas: &'static str,
    label: &'static str,
    label_border: &'static str,
    line: &'static str,
    /// The main path and the start.
    main: &'static str,
    text: &'static str,
    guard: &'static str,
    /// In the order of [`Phase::ALL`].
    phases: [Colours; 6],
}

/// The colours of a state in some phase. Its text stands out from its fill by 7 to 1 or more.
pub(super) struct Colours {
    pub fill: &'static str,
    pub border: &'static str,
    pub text: &'static str,
}

const fn colours(fill: &'static str, border: &'static str, text: &'static str) -> Colours {
    Colours { fill, border, text }
}

pub(super) const LIGHT: Theme = Theme {
    canvas: "#ffffff",
    label: "#f8fafc",
    label_border: "#e2e8f0",
    line: "#7b8aa0",
    main: "#475569",
    text: "#1e293b",
    guard: "#64748b",
    phases: [
        colours("#f1f5f9", "#64748b", "#334155"),
        colours("#e0f2fe", "#0284c7", "#0c4a6e"),
        colours("#fef3c7", "#d97706", "#78350f"),
        colours("#dcfce7", "#16a34a", "#14532d"),
        colours("#fee2e2", "#dc2626", "#7f1d1d"),
        colours("#f3e8ff", "#9333ea", "#581c87"),
    ],
};

const DARK: Theme = Theme {
    canvas: "#0f172a",
    label: "#172033",
    label_border: "#334155",
    line: "#64748b",
    main: "#cbd5e1",
    text: "#e2e8f0",
    guard: "#94a3b8",
    phases: [
        colours("#1e293b", "#94a3b8", "#e2e8f0"),
        colours("#082f49", "#38bdf8", "#bae6fd"),
        colours("#3b2404", "#fbbf24", "#fde68a"),
        colours("#052e16", "#4ade80", "#bbf7d0"),
        colours("#450a0a", "#f87171", "#fecaca"),
        colours("#2e1065", "#c084fc", "#e9d5ff"),
    ],
};

impl Theme {
    pub(super) fn phase(&self, phase: Phase) -> &Colours {
        &self.phases[phase as usize]
    }

    fn rules(&self) -> String {
        let Theme { canvas, label, label_border, line, main, text, guard, phases: _ } = self;
        let mut rules = format!(
            ".lifecycle .canvas {{ fill: {canvas} }}\n\
             .lifecycle .line {{ stroke: {line} }}\n\
             .lifecycle .arrow {{ fill: {line} }}\n\
             .lifecycle .main .line {{ stroke: {main} }}\n\
             .lifecycle .main .arrow, .lifecycle .start {{ fill: {main} }}\n\
             .lifecycle .label rect {{ fill: {label}; stroke: {label_border} }}\n\
             .lifecycle .label text {{ fill: {text} }}\n\
             .lifecycle .label .guard {{ fill: {guard} }}\n"
        );
        for phase in Phase::ALL {
            let Colours { fill, border, text } = self.phase(phase);
            rules.push_str(&format!(
                ".lifecycle .{phase} rect {{ fill: {fill}; stroke: {border} }}\n\
                 .lifecycle .{phase} text {{ fill: {text} }}\n"
            ));
        }
        rules
    }
}

/// The `style` element: what is common, then the light theme, then the dark one for those who ask for it.
pub(super) fn sheet() -> String {
    let common = concat!(
        ".lifecycle { max-width: 100%; height: auto; ",
        "font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, \"DejaVu Sans Mono\", monospace }\n",
        ".lifecycle .line { fill: none; stroke-width: 1.5 }\n",
        ".lifecycle .main .line { stroke-width: 2 }\n",
        ".lifecycle .state rect { stroke-width: 1.5 }\n",
        ".lifecycle .state .inner { fill: none; stroke-width: 1 }\n",
        ".lifecycle text { text-anchor: middle }\n",
        ".lifecycle .name { font-size: 14px; font-weight: 600 }\n",
        ".lifecycle .phase { font-size: 11px; opacity: 0.85 }\n",
        ".lifecycle .label text { font-size: 12px; text-anchor: start }\n",
    );
    let (light, dark) = (LIGHT.rules(), DARK.rules());
    format!("<style>\n{common}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>\n")
}
