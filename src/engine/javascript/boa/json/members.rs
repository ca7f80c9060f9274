//! [`Members`]: what JSON visits of an object, in order.

use std::rc::Rc;

use boa_engine::object::JsObject;
use boa_engine::property::PropertyKey;
use boa_engine::{Context, JsResult, js_string};

use super::Operations;

pub(super) enum Members {
    /// An array's elements: as many as it says, which no memory may hold.
    Elements(u64),
    Properties(Rc<[PropertyKey]>),
}

impl Members {
    /// `names` are the only ones wanted of an object.
    pub(super) fn of(
        object: &JsObject,
        names: Option<&Rc<[PropertyKey]>>,
        operations: &Operations,
        context: &mut Context,
    ) -> JsResult<Self> {
        if operations.is_array(object, context)? {
            let length = object.get(js_string!("length"), context)?;
            Ok(Self::Elements(length.to_length(context)?))
        } else if let Some(names) = names {
            Ok(Self::Properties(names.clone()))
        } else {
            Ok(Self::Properties(operations.keys(object, context)?.into()))
        }
    }

    pub(super) fn key(&self, index: usize) -> Option<PropertyKey> {
        match self {
            Self::Elements(length) if (index as u64) < *length => Some(index.into()),
            Self::Elements(_) => None,
            Self::Properties(keys) => keys.get(index).cloned(),
        }
    }
}
