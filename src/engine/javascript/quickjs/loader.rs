//! Modules, for QuickJS.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader as QuickJsLoader, Resolver as QuickJsResolver};
use rquickjs::module::{Declared, Module as QuickJsModule};
use rquickjs::{Ctx, Exception, Result};

use crate::engine::javascript::host::Host;
use crate::engine::javascript::modules::{Module, Modules};

/// Finds the name of a module.
pub(super) struct Resolver(pub(super) Modules);

impl QuickJsResolver for Resolver {
    fn resolve<'js>(
        &mut self,
        context: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        self.0
            .resolve(base, name)
            .map_err(|message| Exception::throw_message(context, &message))
    }
}

/// Reads a module.
pub(super) struct Loader(pub(super) Modules, pub(super) Rc<Host>);

impl QuickJsLoader for Loader {
    fn load<'js>(
        &mut self,
        context: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<QuickJsModule<'js, Declared>> {
        match self.0.load(name) {
            Ok(Module::JavaScript(code, positions)) => {
                self.1
                    .sources
                    .borrow_mut()
                    .insert(name.to_owned(), *positions);
                QuickJsModule::declare(context.clone(), name, code)
            }
            Ok(Module::Json(text)) => {
                let code = format!("export default JSON.parse({});", quoted(&text));
                QuickJsModule::declare(context.clone(), name, code)
            }
            Err(message) => Err(Exception::throw_message(context, &message)),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
