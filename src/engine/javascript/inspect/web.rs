//! URLs and their parameters. What they are is private to the prelude's classes, which leave it for the inspector under a
//! symbol: a URL its text, parameters their names and values in turn.

use url::Url;

use super::layout::{Frame, arrange};
use super::{Printer, quoted};
use crate::engine::javascript::host::urls;
use crate::engine::javascript::realm::{KeyName, Kind, Realm, Text};

/// The description of the symbol.
const SHOWN: &str = "warmcell.shown";

impl<R: Realm> Printer<'_, R> {
    /// What stands in an object of one of the two classes.
    pub(super) fn web(
        &mut self,
        object: &R::Value,
        constructor: Option<&str>,
    ) -> Option<Vec<String>> {
        match constructor? {
            "URL" => {
                let shown = self.shown(object)?;
                let text = self.text(&shown)?;
                Some(self.url(&Url::parse(&text).ok()?))
            }
            "URLSearchParams" => {
                let shown = self.shown(object)?;
                let mut texts = Vec::new();
                while let Some(value) = self.realm.element(&shown, texts.len() as u32) {
                    texts.push(self.text(&value.into_value()?)?);
                }
                let pairs = texts.chunks_exact(2);
                Some(pairs.map(|pair| parameter(&pair[0], &pair[1])).collect())
            }
            _ => None,
        }
    }

    fn url(&mut self, url: &Url) -> Vec<String> {
        let mut entries: Vec<String> = urls::members(url)
            .into_iter()
            .map(|(name, text)| format!("{name}: {}", quoted(&Text::Utf8(text))))
            .collect();
        let pairs: Vec<String> = url
            .query_pairs()
            .map(|(name, value)| parameter(&name, &value))
            .collect();
        let parameters = if pairs.is_empty() {
            "URLSearchParams {}".to_owned()
        } else {
            let frame = Frame {
                base: "",
                opening: "URLSearchParams {",
                closing: "}",
            };
            arrange(pairs, &frame, self.indentation + 2, 0, None)
        };
        entries.insert(entries.len() - 1, format!("searchParams: {parameters}"));
        entries
    }

    fn shown(&mut self, object: &R::Value) -> Option<R::Value> {
        let is_it = |name: KeyName| name == KeyName::Symbol(SHOWN.to_owned());
        let keys = self.realm.keys(object);
        let key = keys
            .into_iter()
            .find(|key| is_it(self.realm.key_name(key)))?;
        self.realm.property(object, &key)?.into_value()
    }

    fn text(&mut self, value: &R::Value) -> Option<String> {
        match self.realm.kind(value) {
            Kind::String(text) => Some(text.into_lossy()),
            _ => None,
        }
    }
}

fn parameter(name: &str, value: &str) -> String {
    let quote = |text: &str| quoted(&Text::Utf8(text.to_owned()));
    format!("{} => {}", quote(name), quote(value))
}
