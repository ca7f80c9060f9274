//! The way of kitty: PNG in base64, in pieces, each in an application command.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Fit, Picture};

/// Asks whether an image of one pixel could be drawn; nothing is.
pub(super) const QUESTION: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
pub(super) const ANSWER: &str = "\x1b_Gi=31;OK";

/// How much of the base64 goes into one command.
const PIECE: usize = 4096;

/// Draws without an answer, where the cursor is; the cursor is in its last row then.
pub(super) fn draw(picture: &Picture, fit: Fit, number: u32) -> Option<String> {
    let encoded = STANDARD.encode(picture.png()?);
    let mut text = String::with_capacity(encoded.len() + encoded.len() / 100 + 100);
    let columns = if fit.is_smaller {
        format!(",c={}", fit.columns)
    } else {
        String::new()
    };
    let mut rest = encoded.as_str();
    let mut control = format!("a=T,f=100,q=2,i={number}{columns},");
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(PIECE));
        let more = u8::from(!behind.is_empty());
        text.push_str(&format!("\x1b_G{control}m={more};{piece}\x1b\\"));
        if behind.is_empty() {
            return Some(text);
        }
        (rest, control) = (behind, "q=2,".to_owned());
    }
}

/// Takes an image away again.
pub(super) fn removal(number: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\")
}
