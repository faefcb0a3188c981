//! A YAML file as a tree that remembers its lines, so that every refusal can name its place.

use std::collections::HashMap;

use yaml_rust2::parser::{Event, MarkedEventReceiver, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

/// A value, and the line it begins in, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A number, a word, a switch: as it was written.
    Plain {
        /// Without its quotes.
        text: String,
        /// Whether it had any.
        quoted: bool,
    },
    /// A list.
    List(Vec<Tree>),
    /// A mapping, in the order of the file.
    Mapping(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Tree,
}

impl Tree {
    /// Reads the first document of `text`.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut builder = Builder::default();
        Parser::new_from_str(text).load(&mut builder, false).map_err(|error| error.to_string())?;
        Ok(builder.root.unwrap_or_else(|| Self { line: 1, kind: Kind::Mapping(Vec::new()) }))
    }

    /// Whether it is a key with nothing behind it.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(&self.kind, Kind::Plain { text, quoted: false } if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// Puts the events of the parser together.
#[derive(Default)]
struct Builder {
    /// Lists and mappings that have not ended: what they are so far, the key that waits for its value, the anchor.
    open: Vec<Open>,
    anchors: HashMap<usize, Tree>,
    root: Option<Tree>,
}

struct Open {
    tree: Tree,
    key: Option<(String, usize)>,
    anchor: usize,
}

impl Builder {
    fn open(&mut self, mark: Marker, kind: Kind, anchor: usize) {
        self.open.push(Open { tree: Tree { line: mark.line(), kind }, key: None, anchor });
    }

    fn close(&mut self) {
        if let Some(Open { tree, anchor, .. }) = self.open.pop() {
            self.add(tree, anchor);
        }
    }

    fn add(&mut self, tree: Tree, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, tree.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(tree);
            return;
        };
        match (&mut open.tree.kind, open.key.take()) {
            (Kind::List(items), _) => items.push(tree),
            (Kind::Mapping(entries), Some((key, line))) => entries.push(Entry { key, line, value: tree }),
            (_, _) => {
                let key = match tree.kind {
                    Kind::Plain { text, .. } => text,
                    _ => "(not a plain word)".to_owned(),
                };
                open.key = Some((key, tree.line));
            }
        }
    }
}

impl MarkedEventReceiver for Builder {
    fn on_event(&mut self, event: Event, mark: Marker) {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let quoted = style != TScalarStyle::Plain;
                self.add(Tree { line: mark.line(), kind: Kind::Plain { text, quoted } }, anchor);
            }
            Event::SequenceStart(anchor, _) => self.open(mark, Kind::List(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.open(mark, Kind::Mapping(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                if let Some(tree) = self.anchors.get(&anchor).cloned() {
                    self.add(tree, 0);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line_and_how_it_was_written() {
        let tree = Tree::read("app: mf\nnodes:\n  - name: a\n    workers: 2.7\n  - {name: 'b'}\n").unwrap();
        let Kind::Mapping(entries) = &tree.kind else { panic!("{tree:?}") };
        assert_eq!((entries[1].key.as_str(), entries[1].line), ("nodes", 2));
        let Kind::List(nodes) = &entries[1].value.kind else { panic!("{tree:?}") };
        let Kind::Mapping(first) = &nodes[0].kind else { panic!("{tree:?}") };
        assert_eq!(first[1].line, 4);
        assert_eq!(first[1].value.kind, Kind::Plain { text: "2.7".into(), quoted: false });
        let Kind::Mapping(second) = &nodes[1].kind else { panic!("{tree:?}") };
        assert_eq!(second[0].value, Tree { line: 5, kind: Kind::Plain { text: "b".into(), quoted: true } });
    }

    #[test]
    fn anchors_stand_for_what_they_name() {
        let tree = Tree::read("a: &x {n: 1}\nb: *x\n").unwrap();
        let Kind::Mapping(entries) = &tree.kind else { panic!("{tree:?}") };
        assert_eq!(entries[0].value, entries[1].value);
        assert!(Tree::read("").unwrap() == Tree { line: 1, kind: Kind::Mapping(Vec::new()) });
    }
}
