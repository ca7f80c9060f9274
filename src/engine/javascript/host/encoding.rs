//! Text to bytes and back, in the encodings of `Buffer`, `TextDecoder`, `atob` and `btoa`.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{Arguments, Complaint};
use crate::engine::javascript::realm::{ErrorClass, Realm, Text};

/// Takes base64 with or without padding, and with bits that padding would not need, as the web does.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

/// `(text, encoding)`: the bytes as an array buffer, or undefined when the text is not in the encoding.
pub(super) fn text_to_bytes<R: Realm>(given: &mut Arguments<'_, R>) -> Result<R::Value, Complaint> {
    let text = given.string(0);
    let encoding = given.text(1);
    let bytes = match encoding.as_str() {
        "utf8" => Some(text.into_lossy().into_bytes()),
        "latin1" => Some(units(&text).map(|unit| unit as u8).collect()),
        "latin1-only" => units(&text).map(|unit| u8::try_from(unit).ok()).collect(),
        "utf16le" => Some(units(&text).flat_map(u16::to_le_bytes).collect()),
        "hex" => Some(from_hexadecimal(&text.into_lossy())),
        "base64" => Some(from_base64_leniently(&text.into_lossy())),
        "base64-only" => from_base64(&text.into_lossy()),
        _ => return Err(unknown(&encoding)),
    };
    Ok(match bytes {
        Some(bytes) => given.realm.buffer(bytes),
        None => given.realm.undefined(),
    })
}

/// `(bytes, encoding)`: the text.
pub(super) fn bytes_to_text<R: Realm>(given: &mut Arguments<'_, R>) -> Result<R::Value, Complaint> {
    let bytes = given.bytes(0);
    let encoding = given.text(1);
    let text = match encoding.as_str() {
        "utf8" => String::from_utf8_lossy(&bytes).into_owned(),
        "latin1" => bytes.iter().map(|byte| char::from(*byte)).collect(),
        "ascii" => bytes.iter().map(|byte| char::from(byte & 0x7f)).collect(),
        "hex" => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        "base64" => STANDARD.encode(&bytes),
        "base64url" => URL_SAFE.encode(&bytes),
        "utf16le" => {
            let units: Vec<u16> = bytes
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            return Ok(given.realm.string_of_units(&units));
        }
        _ => return Err(unknown(&encoding)),
    };
    Ok(given.realm.string(&text))
}

/// `(label)`: the name of an encoding as `TextDecoder` tells it, or undefined.
pub(super) fn name<R: Realm>(given: &mut Arguments<'_, R>) -> R::Value {
    let label = given.text(0);
    match encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) => given.realm.string(&encoding.name().to_ascii_lowercase()),
        None => given.realm.undefined(),
    }
}

/// `(bytes, name, fatal, ignoreBom)`: the text; undefined when it is malformed and must not be.
pub(super) fn decode<R: Realm>(given: &mut Arguments<'_, R>) -> Result<R::Value, Complaint> {
    let bytes = given.bytes(0);
    let name = given.text(1);
    let (fatal, keeps_mark) = (given.flag(2), given.flag(3));
    let Some(encoding) = encoding_rs::Encoding::for_label(name.as_bytes()) else {
        return Err(unknown(&name));
    };
    let (text, is_malformed) = if keeps_mark {
        encoding.decode_without_bom_handling(&bytes)
    } else {
        encoding.decode_with_bom_removal(&bytes)
    };
    Ok(if is_malformed && fatal {
        given.realm.undefined()
    } else {
        given.realm.string(&text)
    })
}

fn unknown(encoding: &str) -> Complaint {
    (
        ErrorClass::TypeError,
        format!("Unknown encoding: {encoding}"),
    )
}

fn units(text: &Text) -> Box<dyn Iterator<Item = u16> + '_> {
    match text {
        Text::Utf8(text) => Box::new(text.encode_utf16()),
        Text::Broken(units) => Box::new(units.iter().copied()),
    }
}

/// Pairs of hexadecimal digits up to the first thing that is none.
fn from_hexadecimal(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// What `atob` takes: white space goes, everything else must be right.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .collect();
    STANDARD.decode(text).ok()
}

/// What `Buffer.from` takes: either alphabet, up to the padding, without what is in neither.
fn from_base64_leniently(text: &str) -> Vec<u8> {
    let text: String = text
        .chars()
        .take_while(|character| *character != '=')
        .filter_map(|character| match character {
            '-' => Some('+'),
            '_' => Some('/'),
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' => Some(character),
            _ => None,
        })
        .collect();
    let whole = if text.len() % 4 == 1 {
        &text[..text.len() - 1]
    } else {
        &text
    };
    STANDARD.decode(whole).unwrap_or_default()
}
