//! What is wrong with a world file, where, and what to change.

use std::cell::{Cell, RefCell};
use std::fmt;

/// Greatest number of problems listed for one file; the rest are only counted.
pub const PROBLEMS_MAX: usize = 50;

/// One mistake in a world file, told so that its author can mend it without reading code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// Character within the line, from 1.
    pub column: usize,
    /// The value it speaks of, for example `bodies[3].shape.ball.radius`; empty for the file as a whole.
    pub path: String,
    /// What is wrong; reads on from the path.
    pub what: String,
    /// What to change.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = if self.path.is_empty() { "the file" } else { &self.path };
        write!(f, "{subject} {} — {}", self.what, self.remedy)
    }
}

/// Everything that is wrong with a world file, in the order of its lines. Displays as one line per problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The problems; never empty, at most [`PROBLEMS_MAX`].
    pub list: Vec<Problem>,
    /// How many more there are that are not listed.
    pub more: usize,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{}:{}: {problem}", self.file, problem.line)?;
        }
        if self.more > 0 {
            write!(f, "\n{}: and {} more — mend these first, then check again", self.file, self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects problems while a file is read, and turns offsets into lines. Shared by all nodes of one reading.
pub(super) struct Sink<'t> {
    text: &'t str,
    line_starts: Vec<usize>,
    found: RefCell<Vec<Problem>>,
    more: Cell<usize>,
}

impl<'t> Sink<'t> {
    pub(super) fn new(text: &'t str) -> Sink<'t> {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Sink { text, line_starts, found: RefCell::new(Vec::new()), more: Cell::new(0) }
    }

    /// Line, from 1, of a byte offset.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= at).max(1)
    }

    /// Line and column, both from 1, of a byte offset. Walks the line, which may be the whole file, so it is asked only
    /// for problems that are listed.
    fn position(&self, at: usize) -> (usize, usize) {
        let line = self.line(at);
        let start = self.line_starts[line - 1];
        let column = self.text[start..].char_indices().take_while(|(i, _)| start + i < at).count();
        (line, column + 1)
    }

    /// True when further problems are only counted, so that nobody works out suggestions for them.
    pub(super) fn is_full(&self) -> bool {
        self.found.borrow().len() >= PROBLEMS_MAX
    }

    /// True as long as nothing is wrong.
    pub(super) fn is_clean(&self) -> bool {
        self.count() == 0
    }

    /// How many problems there are so far.
    pub(super) fn count(&self) -> usize {
        self.found.borrow().len() + self.more.get()
    }

    pub(super) fn add(&self, at: usize, path: String, what: String, remedy: String) {
        if self.is_full() {
            self.more.set(self.more.get() + 1);
            return;
        }
        let (line, column) = self.position(at);
        self.found.borrow_mut().push(Problem { line, column, path, what, remedy });
    }

    /// The problems in the order of the file.
    pub(super) fn into_problems(self, file: &str) -> Problems {
        let mut list = self.found.into_inner();
        list.sort_by_key(|p| (p.line, p.column));
        Problems { file: file.to_owned(), list, more: self.more.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns() {
        let sink = Sink::new("ab\nµx\n\nend");
        let at = |needle: &str| sink.position(sink.text.find(needle).unwrap());
        assert_eq!(at("ab"), (1, 1));
        assert_eq!(at("x"), (2, 2), "columns count characters, not bytes");
        assert_eq!(at("end"), (4, 1));
        assert_eq!(sink.position(9_999), (4, 4), "an offset past the end is the end");
    }

    #[test]
    fn the_list_is_bounded_and_the_rest_counted() {
        let sink = Sink::new("");
        for _ in 0..PROBLEMS_MAX + 7 {
            sink.add(0, String::new(), "is odd".to_owned(), "mend it".to_owned());
        }
        let problems = sink.into_problems("w.toml");
        assert_eq!((problems.list.len(), problems.more), (PROBLEMS_MAX, 7));
        let text = problems.to_string();
        assert!(text.starts_with("w.toml:1: the file is odd — mend it\n"), "{text}");
        assert!(text.ends_with("w.toml: and 7 more — mend these first, then check again"), "{text}");
    }
}
