//! Walks a parsed file value by value: knows each value's place and path, and says what it finds wrong there.

use glam::{Quat, Vec3};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Sink;
use crate::nearest;

/// How far the squared length of a direction or rotation may be from one before it is brought back to unit length.
/// Anything nearer is kept to the bit, so that a written world is read back unchanged.
const UNIT_SLACK: f32 = 1e-5;

/// One value of the file.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    value: &'a DeValue<'a>,
    at: usize,
    parent: Option<&'a Node<'a>>,
    step: Step<'a>,
    sink: &'a Sink<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

/// A value that is a table with known keys only.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    node: Node<'a>,
    entries: &'a DeTable<'a>,
}

impl<'a> Node<'a> {
    /// The whole file.
    pub(super) fn root(value: &'a DeValue<'a>, sink: &'a Sink<'a>) -> Node<'a> {
        Node { value, at: 0, parent: None, step: Step::Root, sink }
    }

    fn child(&'a self, value: &'a Spanned<DeValue<'a>>, step: Step<'a>) -> Node<'a> {
        Node { value: value.get_ref(), at: value.span().start, parent: Some(self), step, sink: self.sink }
    }

    /// Records that something is wrong with this value.
    pub(super) fn problem(&self, what: impl fmt::Display, remedy: impl fmt::Display) {
        self.problem_at(self.at, what, remedy);
    }

    fn problem_at(&self, at: usize, what: impl fmt::Display, remedy: impl fmt::Display) {
        if self.sink.is_full() {
            self.sink.add(at, String::new(), String::new(), String::new());
        } else {
            self.sink.add(at, self.to_string(), what.to_string(), remedy.to_string());
        }
    }

    /// Problems found so far in the whole file; compare before and after to know whether a part was clean.
    pub(super) fn problem_count(&self) -> usize {
        self.sink.count()
    }

    /// True when further problems are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    /// Line of the file on which the value begins.
    pub(super) fn line(&self) -> usize {
        self.sink.line(self.at)
    }

    /// True for values in quotes.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// True for values in square brackets.
    pub(super) fn is_array(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    fn wrong_type(&self, wanted: &str, remedy: &str) {
        let found = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.problem(format_args!("is {found}; it must be {wanted}"), remedy);
    }

    /// A number, infinite ones included, as the nearest `f32` to what is written.
    pub(super) fn number_or_infinite(&self) -> Option<f32> {
        let digits = match self.value {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str(),
            DeValue::Integer(_) => return self.whole(0, u64::MAX, "write it in decimal").map(|whole| whole as f32),
            _ => {
                self.wrong_type("a number", "write a number without quotes, for example 0.5");
                return None;
            }
        };
        let number: f32 = digits.parse().unwrap_or(f32::NAN);
        let overflowed = number.is_infinite() && !digits.contains("inf");
        if number.is_nan() || overflowed {
            self.problem(
                format_args!("is {}; it must be an ordinary number", shown(digits)),
                "write one, for example 0.5; the largest is 3.4e38",
            );
            return None;
        }
        Some(number)
    }

    /// A finite number.
    pub(super) fn number(&self) -> Option<f32> {
        let number = self.number_or_infinite()?;
        if number.is_infinite() {
            self.problem(format_args!("is {number}; it must be finite"), "write an ordinary number, for example 0.5");
            return None;
        }
        Some(number)
    }

    /// A number from `low` to `high`.
    pub(super) fn within(&self, low: f32, high: f32, remedy: &str) -> Option<f32> {
        let number = self.number()?;
        if number < low || number > high {
            self.problem(format_args!("is {number}; it must be from {low} to {high}"), remedy);
            return None;
        }
        Some(number)
    }

    /// A number above zero, up to `high`.
    pub(super) fn size(&self, high: f32, remedy: &str) -> Option<f32> {
        let number = self.number()?;
        if number <= 0.0 {
            self.problem(format_args!("is {number}; it must be above 0"), remedy);
            return None;
        }
        if number > high {
            self.problem(format_args!("is {number}; it must be at most {high}"), remedy);
            return None;
        }
        Some(number)
    }

    /// A whole number from `low` to `high`.
    pub(super) fn whole(&self, low: u64, high: u64, remedy: &str) -> Option<u64> {
        let DeValue::Integer(whole) = self.value else {
            self.wrong_type("a whole number", remedy);
            return None;
        };
        let read = u64::from_str_radix(whole.as_str(), whole.radix()).ok();
        let good = read.filter(|n| (low..=high).contains(n));
        if good.is_none() {
            self.problem(format_args!("is {}; it must be from {low} to {high}", shown(whole.as_str())), remedy);
        }
        good
    }

    /// `true` or `false`.
    pub(super) fn flag(&self) -> Option<bool> {
        let DeValue::Boolean(flag) = self.value else {
            self.wrong_type("true or false", "write true or false, without quotes");
            return None;
        };
        Some(*flag)
    }

    /// A text of at most `characters_max`.
    pub(super) fn text(&self, characters_max: usize) -> Option<&'a str> {
        let DeValue::String(text) = self.value else {
            self.wrong_type("a text", "put it in quotes");
            return None;
        };
        if text.len() > characters_max && text.chars().count() > characters_max {
            self.problem(format_args!("is longer than {characters_max} characters"), "shorten it");
            return None;
        }
        Some(text)
    }

    /// One of a few words, as its place in the list.
    pub(super) fn word(&self, words: &[&str]) -> Option<usize> {
        let text = self.text(usize::MAX)?;
        let found = words.iter().position(|w| *w == text);
        if found.is_none() {
            self.problem(format_args!("is \"{}\", which is not known", shown(text)), suggestion(text, words));
        }
        found
    }

    /// The values of a list.
    pub(super) fn items(
        &'a self,
        wanted: &str,
        remedy: &str,
    ) -> Option<impl ExactSizeIterator<Item = Node<'a>> + use<'a>> {
        let DeValue::Array(array) = self.value else {
            self.wrong_type(wanted, remedy);
            return None;
        };
        Some(array.iter().enumerate().map(|(i, value)| self.child(value, Step::Index(i))))
    }

    /// A list of exactly `N` values, each read by `read`.
    pub(super) fn exactly<T: Copy, const N: usize>(
        &self,
        example: &str,
        read: impl Fn(&Node<'_>) -> Option<T>,
    ) -> Option<[T; N]> {
        let remedy = format!("write {example}");
        let items = self.items(&format!("a list of {N}"), &remedy)?;
        if items.len() != N {
            self.problem(format_args!("has {} values; it must have {N}", items.len()), remedy);
            return None;
        }
        let values: Vec<Option<T>> = items.map(|item| read(&item)).collect();
        let values: Vec<T> = values.into_iter().collect::<Option<_>>()?;
        values.try_into().ok()
    }

    /// Three finite numbers.
    pub(super) fn vector(&self) -> Option<Vec3> {
        self.exactly("three numbers, for example [0.0, 1.0, 0.0]", |n| n.number()).map(Vec3::from_array)
    }

    /// Three finite numbers, each at most `reach` from zero.
    pub(super) fn vector_within(&self, reach: f32, remedy: &str) -> Option<Vec3> {
        self.exactly("three numbers, for example [0.0, 1.0, 0.0]", |n| n.within(-reach, reach, remedy))
            .map(Vec3::from_array)
    }

    /// A direction of any length but zero, brought to unit length.
    pub(super) fn direction(&self) -> Option<Vec3> {
        let vector = self.vector()?;
        if (vector.length_squared() - 1.0).abs() <= UNIT_SLACK {
            return Some(vector);
        }
        let unit = vector.try_normalize();
        if unit.is_none() {
            self.problem("has no direction", "write a vector that is not zero, for example [0.0, 1.0, 0.0]");
        }
        unit
    }

    /// A unit quaternion x, y, z, w; small errors of rounding are mended.
    pub(super) fn quaternion(&self) -> Option<Quat> {
        let example = "a unit quaternion x, y, z, w, for example [0.0, 0.0, 0.0, 1.0], or use turn";
        let quat = Quat::from_array(self.exactly(example, |n| n.number())?);
        let error = (quat.length_squared() - 1.0).abs();
        if error <= UNIT_SLACK {
            return Some(quat);
        }
        if error < 1e-2 {
            return Some(quat.normalize());
        }
        self.problem(
            format_args!("is of length {}; it must be of length 1", quat.length()),
            format_args!("write {example}"),
        );
        None
    }

    /// A table that may have only these keys; others are reported.
    pub(super) fn table(&self, wanted: &str, known: &[&str]) -> Option<Table<'a>> {
        let table = self.any_table(wanted)?;
        table.refuse_others(known, "");
        Some(table)
    }

    /// A table whose keys are judged later.
    pub(super) fn any_table(&self, wanted: &str) -> Option<Table<'a>> {
        let DeValue::Table(entries) = self.value else {
            self.wrong_type(wanted, "write a table, for example { key = value }");
            return None;
        };
        Some(Table { node: *self, entries })
    }
}

impl<'a> Table<'a> {
    /// The table itself, for problems with it as a whole.
    pub(super) fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// The value of a key, if there is one.
    pub(super) fn get(&'a self, key: &'a str) -> Option<Node<'a>> {
        self.entries.get(key).map(|value| self.node.child(value, Step::Key(key)))
    }

    /// The value of a key; its absence is a problem.
    pub(super) fn need(&'a self, key: &'a str, remedy: &str) -> Option<Node<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.node.problem(format_args!("has no {key}"), remedy);
        }
        found
    }

    /// The value of a key read by `read`, or a default when the key is absent.
    pub(super) fn or<T>(&self, key: &str, default: T, read: impl FnOnce(&Node<'_>) -> Option<T>) -> Option<T> {
        match self.get(key) {
            Some(node) => read(&node),
            None => Some(default),
        }
    }

    /// The keys, as they stand in the table.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(|key| key.get_ref().as_ref())
    }

    /// Reports every key that is not known. `whose` says who would know it, for example ` of a rope joint`.
    pub(super) fn refuse_others(&self, known: &[&str], whose: &str) {
        for (key, _) in self.entries.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            let remedy = if self.node.is_full() { String::new() } else { suggestion(name, known) };
            let what = format_args!("has the key `{}`, which is not a key{whose}", shown(name));
            self.node.problem_at(key.span().start, what, remedy);
        }
    }
}

impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) if matches!(self.parent.map(|p| p.step), Some(Step::Root)) => f.write_str(key),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// What to do about a word that is not among the known ones.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("choose from {}", known.join(", ")),
    }
}

/// A piece of the file, cut to a length that fits into a message.
pub(super) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 40;
    let mut short: String = text.chars().take(SHOWN_MAX).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        short.push('…');
    }
    short
}
