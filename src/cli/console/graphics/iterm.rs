//! The way of iTerm2: the file itself in base64, in one command.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Fit, Picture};

pub(super) fn draw(picture: &Picture, fit: Fit) -> String {
    let size = picture.bytes.len();
    let width = if fit.is_smaller {
        fit.columns.to_string()
    } else {
        "auto".to_owned()
    };
    let encoded = STANDARD.encode(&picture.bytes);
    format!("\x1b]1337;File=inline=1;size={size};width={width};preserveAspectRatio=1:{encoded}\x07")
}
