//! Writes a diagram as SVG: self-contained, readable in light and dark surroundings, and to those who only hear it.
//!
//! Arrow heads are paths of their own: markers need ids, which would clash where two diagrams stand in one page.

use alloc::format;
use alloc::string::String;

use super::layout::{
    ARROW, LABEL_PADDING, LINE_HEIGHT, Layout, Path, Rectangle, START_RADIUS, layout, shown,
};
use super::{Edge, StateId, Table, style};

pub(super) fn write(table: &Table, edges: &[Edge]) -> String {
    let layout = layout(table, edges);
    let Layout { width, height, .. } = layout;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lifecycle\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n"
    );
    text.push_str(&format!("<title>{}</title>\n", escape(&format!("Lifecycle of {}", table.kind))));
    text.push_str(&style::sheet());
    text.push_str(&format!("<rect class=\"canvas\" width=\"{width}\" height=\"{height}\" rx=\"12\"/>\n"));
    // Lines first, then what must stay readable.
    for (edge, path) in edges.iter().zip(&layout.paths) {
        text.push_str(&line(table, edge, path));
    }
    for (edge, path) in edges.iter().zip(&layout.paths) {
        text.push_str(&label(edge, path));
    }
    if let Some((x, y)) = layout.start {
        text.push_str(&format!("<circle class=\"start\" cx=\"{x}\" cy=\"{y}\" r=\"{START_RADIUS}\"/>\n"));
    }
    for (state, rectangle) in table.state_ids().zip(&layout.states) {
        text.push_str(&state_box(table, state, *rectangle));
    }
    text.push_str("</svg>\n");
    text
}

fn line(table: &Table, edge: &Edge, path: &Path) -> String {
    let from = edge.from.map_or("start", |from| table.name(from));
    let title = format!("{from} → {}: {}", table.name(edge.to), edge.label(", "));
    let class = if path.is_main { "edge main" } else { "edge" };
    let (x, y) = path.level[path.level.len() - 1][1];
    let back = if path.is_backward { ARROW } else { -ARROW };
    format!(
        "<g class=\"{class}\"><title>{}</title><path class=\"line\" d=\"{}\"/><path class=\"arrow\" d=\"M{x} {y}l{back} -5v10z\"/></g>\n",
        escape(&title),
        curve(path),
    )
}

/// Level stretches joined by curves that leave and arrive level. A stretch that goes on at the same height is one line.
fn curve(path: &Path) -> String {
    let (x, y) = path.level[0][0];
    let mut text = format!("M{x} {y}");
    let mut end = path.level[0][1];
    let mut is_drawn = false;
    for [first, second] in &path.level[1..] {
        if first.1 != end.1 {
            if !is_drawn {
                text.push_str(&format!("H{}", end.0));
            }
            let middle = (end.0 + first.0) / 2;
            text.push_str(&format!("C{middle} {} {middle} {} {} {}", end.1, first.1, first.0, first.1));
        }
        is_drawn = false;
        end = *second;
    }
    text.push_str(&format!("H{}", end.0));
    text
}

fn label(edge: &Edge, path: &Path) -> String {
    let Rectangle { x, y, width, height } = path.label;
    let mut text = format!(
        "<g class=\"label\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
    );
    let top = y + (height - edge.lines.len() as i32 * LINE_HEIGHT) / 2;
    for (index, line) in edge.lines.iter().enumerate() {
        let line = shown(line);
        let baseline = top + index as i32 * LINE_HEIGHT + 13;
        text.push_str(&format!("<text x=\"{}\" y=\"{baseline}\">{}", x + LABEL_PADDING, escape(&line.event)));
        if !line.guard.is_empty() {
            text.push_str(&format!(" <tspan class=\"guard\">[{}]</tspan>", escape(&line.guard)));
        }
        text.push_str("</text>");
    }
    text.push_str("</g>\n");
    text
}

fn state_box(table: &Table, state: StateId, rectangle: Rectangle) -> String {
    let Rectangle { x, y, width, height } = rectangle;
    let phase = table.phase(state);
    let title = match table.state(state).meaning.as_str() {
        "" => format!("{} ({phase})", table.name(state)),
        meaning => format!("{} ({phase}): {meaning}", table.name(state)),
    };
    let mut text = format!(
        "<g class=\"state {phase}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>",
        escape(&title),
    );
    if table.is_final(state) {
        text.push_str(&format!(
            "<rect class=\"inner\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"7\"/>",
            x + 4,
            y + 4,
            width - 8,
            height - 8
        ));
    }
    let (middle, level) = (x + width / 2, y + height / 2);
    text.push_str(&format!(
        "<text class=\"name\" x=\"{middle}\" y=\"{}\">{}</text><text class=\"phase\" x=\"{middle}\" y=\"{}\">{phase}</text></g>\n",
        level - 1,
        escape(table.name(state)),
        level + 15,
    ));
    text
}

/// Also drops what XML 1.0 cannot hold at all.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("a<b & \"c\" 'd'\u{1}"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;");
        assert_eq!(escape("é → ]]>"), "é → ]]&gt;");
    }
}
