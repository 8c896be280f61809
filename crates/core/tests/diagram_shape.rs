//! Diagrams: what must hold for the picture of any table, however odd.

#[path = "diagrams/tables.rs"]
mod tables;

use roxmltree::{Document, Node};
use tables::table;
use tenure_core::lifecycle::diagram::{Format, draw};
use tenure_core::lifecycle::{Table, To};

/// The built-in tables, tables that a check would refuse, names that need quoting, and many at random.
fn samples() -> Vec<Table> {
    let long = "x".repeat(63);
    let mut samples = tables::all();
    samples.extend([
        table("alone", "ONLY:waiting", ""),
        table("no_start", "A:ready B:active", "A lease → B\nB release → A"),
        table("unreached", "A:ready B:active C:failed", "— create → A\nB fail → C\nC retry → B"),
        table("two_starts", "A:ready B:waiting", "— create → B [payload /later = true]\n— create → A\nB wake → A"),
        table(
            "words",
            "state:waiting end:ready in-progress:active in_progress:active Default:succeeded",
            "— create → state\nstate class → end\nend lease → in-progress\nin-progress note → in_progress\n\
             in_progress commit → Default",
        ),
        table(
            "hostile",
            "A:ready B:active",
            "— create → A\nA lease → B [payload /a = \"<b>&\\\\\\\"'--]]>;:%%{init}%%</svg>\"]\nA lease → A\nB release → A",
        ),
        table("long", &format!("{long}:ready B:active"), &format!("— create → {long}\n{long} lease as {long} → B")),
    ]);
    let mut random = Random(7);
    samples.extend((0..60).map(|_| random.table(12, 24)));
    samples.push(random.table(64, 160));
    samples
}

/// A small generator of numbers: the tests are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn table(&mut self, states_max: usize, rows_max: usize) -> Table {
        let phases = ["waiting", "ready", "active", "succeeded", "failed", "stopped"];
        let events =
            ["lease", "commit", "fail", "expire", "release", "approve", "block as BLOCKED_BY_SOMEBODY"];
        let guards = ["", "", " [attempts left]", " [no other running for key, reason]"];
        let count = 1 + self.below(states_max);
        let states: Vec<String> = (0..count).map(|n| format!("S{n}:{}", phases[self.below(6)])).collect();
        let mut rows = String::from("— create → S0\n");
        for _ in 0..self.below(rows_max) {
            let (from, to) = (self.below(count), self.below(count));
            let (event, guard) = (events[self.below(events.len())], guards[self.below(guards.len())]);
            rows.push_str(&format!("S{from} {event} → S{to}{guard}\n"));
        }
        table("random", &states.join(" "), &rows)
    }
}

#[test]
fn every_state_and_every_way_out_is_shown() {
    for table in samples() {
        for format in Format::ALL {
            let drawn = draw(&table, format);
            for state in &table.states {
                assert!(drawn.contains(state.name.as_str()), "{format} of {table:?} lacks {}", state.name);
            }
            for row in table.rows.iter().filter(|row| row.is_exit() || row.from.is_none()) {
                assert!(drawn.contains(row.shown()), "{format} of {table:?} lacks {}", row.shown());
            }
        }
    }
}

#[test]
fn rows_that_move_nothing_are_left_out() {
    for format in Format::ALL {
        let drawn = draw(&tables::claim(), format);
        assert!(!drawn.contains("ALREADY_DECOMPOSED"), "{format} shows a refusal");
        let moves = tables::claim()
            .rows
            .iter()
            .filter(|row| matches!(row.to, To::State(_)) && !row.is_no_op())
            .count();
        // Two pairs of rows share their states, and with them an arrow.
        assert_eq!(arrows(&drawn, format), moves - 2, "{format}");
    }
}

fn arrows(drawn: &str, format: Format) -> usize {
    match format {
        Format::Mermaid => {
            drawn.lines().filter(|line| line.contains("-->") && !line.ends_with("[*]")).count()
        }
        Format::Dot => drawn.matches(" -> ").count(),
        Format::Svg => drawn.matches("class=\"arrow\"").count(),
    }
}

#[test]
fn a_guard_is_shown_where_it_decides() {
    let job = draw(&tables::job(), Format::Mermaid);
    assert!(job.contains("RUNNING --> FAILED: fail [permanent]<br/>fail [else]<br/>expire [else]"), "{job}");
    assert!(job.contains("PENDING --> CANCELLED: cancel\n"), "{job}");
}

#[test]
fn names_that_mermaid_reserves_get_other_ids() {
    let states = "state:waiting in-progress:active in_progress:active in_progress_:active";
    let rows = "— create → state\nstate lease → in-progress\nin-progress a → in_progress\nin_progress b → in_progress_";
    let drawn = draw(&table("words", states, rows), Format::Mermaid);
    for line in
        ["state \"state\" as state_", "state \"in-progress\" as in_progress__", "[*] --> state_: create"]
    {
        assert!(drawn.contains(line), "{line} is not in\n{drawn}");
    }
}

#[test]
fn states_labels_and_lines_keep_clear_of_each_other() {
    for table in samples() {
        let drawn = draw(&table, Format::Svg);
        let document = Document::parse(&drawn).unwrap_or_else(|error| panic!("{table:?}: {error}\n{drawn}"));
        let picture = Picture::read(&document);
        assert_eq!(picture.states.len(), table.states.len());
        assert_eq!(picture.labels.len(), picture.lines.len());
        let things: Vec<&Rectangle> = picture.states.iter().chain(&picture.labels).collect();
        for (index, one) in things.iter().enumerate() {
            assert!(one.is_inside(&picture.canvas), "{table:?}: {one:?} is outside of {:?}", picture.canvas);
            for other in &things[index + 1..] {
                assert!(!one.overlaps(other), "{table:?}: {one:?} overlaps {other:?}\n{drawn}");
            }
        }
        for (index, line) in picture.lines.iter().enumerate() {
            for point in line {
                assert!(picture.canvas.holds(point), "{table:?}: a line leaves the canvas at {point:?}");
                let in_state = picture.states.iter().any(|state| state.holds(point));
                let mut labels = picture.labels.iter().enumerate();
                let in_label = labels.any(|(other, label)| other != index && label.holds(point));
                assert!(!in_state && !in_label, "{table:?}: line {index} is hidden at {point:?}\n{drawn}");
            }
        }
    }
}

#[test]
fn a_picture_can_be_understood_without_being_seen() {
    let drawn = draw(&tables::run(), Format::Svg);
    let document = Document::parse(&drawn).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let title = root.first_element_child().unwrap();
    assert_eq!((title.tag_name().name(), title.text()), ("title", Some("Lifecycle of run")));
    assert!(drawn.contains("prefers-color-scheme: dark"));
}

#[derive(Debug)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rectangle {
    fn read(element: Node) -> Rectangle {
        let number =
            |name: &str| element.attribute(name).map_or(0.0, |text| f64::from(text.parse::<i32>().unwrap()));
        Rectangle { x: number("x"), y: number("y"), width: number("width"), height: number("height") }
    }

    fn overlaps(&self, other: &Rectangle) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    fn is_inside(&self, outer: &Rectangle) -> bool {
        self.x >= outer.x
            && self.y >= outer.y
            && self.x + self.width <= outer.x + outer.width
            && self.y + self.height <= outer.y + outer.height
    }

    fn holds(&self, (x, y): &(f64, f64)) -> bool {
        self.x < *x && *x < self.x + self.width && self.y < *y && *y < self.y + self.height
    }
}

struct Picture {
    canvas: Rectangle,
    states: Vec<Rectangle>,
    /// One a line, in the same order.
    labels: Vec<Rectangle>,
    /// Points on each line, close together.
    lines: Vec<Vec<(f64, f64)>>,
}

impl Picture {
    fn read(document: &Document) -> Picture {
        let with = |class: &'static str| {
            document.descendants().filter(move |node| {
                node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
            })
        };
        let first_rect = |node: Node| {
            let rect =
                node.children().find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", "rect")));
            Rectangle::read(rect.expect("a state or label has a rectangle"))
        };
        let root = document.root_element();
        let canvas = Rectangle::read(root);
        let view = format!("0 0 {} {}", canvas.width, canvas.height);
        assert_eq!(root.attribute("viewBox"), Some(view.as_str()));
        Picture {
            canvas,
            states: with("state").map(first_rect).collect(),
            labels: with("label").map(first_rect).collect(),
            lines: with("line").map(|line| points(line.attribute("d").unwrap())).collect(),
        }
    }
}

/// Follows a path of `M`, `H` and `C`, the only commands that are used.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(char::is_alphabetic).map_or(rest.len(), |end| end + 1);
        let numbers: Vec<f64> =
            rest[1..end].split(' ').map(|n| f64::from(n.parse::<i32>().unwrap())).collect();
        rest = &rest[end..];
        let Some((x, y)) = points.last().copied() else {
            assert_eq!(command, 'M');
            points.push((numbers[0], numbers[1]));
            continue;
        };
        let controls = match command {
            'H' => [x, y, numbers[0], y, numbers[0], y],
            'C' => numbers.try_into().unwrap(),
            _ => panic!("{command} in {path}"),
        };
        for step in 1..=32 {
            let t = f64::from(step) / 32.0;
            let bezier = |a: f64, b: f64, c: f64, d: f64| {
                let s = 1.0 - t;
                s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
            };
            points.push((
                bezier(x, controls[0], controls[2], controls[4]),
                bezier(y, controls[1], controls[3], controls[5]),
            ));
        }
    }
    points
}
