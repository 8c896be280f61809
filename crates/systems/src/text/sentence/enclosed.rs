//! What stands in quotation marks or brackets. It is somebody else's sentence, or an aside: nothing is split inside.

use crate::text::token::Tokens;

/// A mark that is not closed within so many words was no opening one. It also bounds what one closing mark costs.
const TOKENS_MAX: usize = 150;

/// For every token, whether it stands inside.
#[derive(Clone, Debug)]
pub struct Enclosed(Vec<bool>);

impl Enclosed {
    pub fn of(tokens: &Tokens<'_>) -> Enclosed {
        let mut inside = vec![false; tokens.len()];
        let mut open: Vec<(usize, char)> = Vec::new();
        for at in 0..tokens.len() {
            if tokens.all[at].breaks >= 2 {
                open.clear();
            }
            let Some(mark) = tokens.mark(at) else { continue };
            let closed = open.iter().rposition(|(from, closing)| *closing == mark && at - from <= TOKENS_MAX);
            if let Some(which) = closed {
                inside[open[which].0..=at].fill(true);
                open.truncate(which);
            } else if let Some(closing) = closing_of(tokens, at, mark) {
                if open.len() == OPEN_MAX {
                    open.remove(0);
                }
                open.push((at, closing));
            }
        }
        Enclosed(inside)
    }

    pub fn holds(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or(false)
    }
}

/// Nobody nests deeper; without a bound a text of brackets would be searched over and over.
const OPEN_MAX: usize = 8;

fn closing_of(tokens: &Tokens<'_>, at: usize, mark: char) -> Option<char> {
    Some(match mark {
        '(' => ')',
        '[' => ']',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '‘' => '’',
        // Before a word it opens, behind a number it is inches.
        '"' if !tokens.is_glued(at) || at == 0 || tokens.mark(at - 1).is_some() => '"',
        _ => return None,
    })
}
