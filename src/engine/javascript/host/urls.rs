//! URLs and query strings, by the `url` crate, which follows the web's standard.

use url::{Position, Url, form_urlencoded, quirks};

use super::Arguments;
use crate::engine::javascript::realm::{Kind, Realm};

/// `(input, base?)`: the parts of a URL, or undefined when it is none.
pub(super) fn parse<R: Realm>(given: &mut Arguments<'_, R>) -> R::Value {
    let input = given.text(0);
    let base = match given.kind(1) {
        Kind::String(base) => match Url::parse(&base.into_lossy()) {
            Ok(base) => Some(base),
            Err(_) => return given.realm.undefined(),
        },
        _ => None,
    };
    match Url::options().base_url(base.as_ref()).parse(&input) {
        Ok(url) => parts(given.realm, &url),
        Err(_) => given.realm.undefined(),
    }
}

/// `(href, part, value)`: the parts of the URL with one of them changed, or undefined when that cannot be.
pub(super) fn change<R: Realm>(given: &mut Arguments<'_, R>) -> R::Value {
    let Ok(mut url) = Url::parse(&given.text(0)) else {
        return given.realm.undefined();
    };
    let value = given.text(2);
    let changed = match given.text(1).as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value).is_ok(),
        "username" => quirks::set_username(&mut url, &value).is_ok(),
        "password" => quirks::set_password(&mut url, &value).is_ok(),
        "host" => quirks::set_host(&mut url, &value).is_ok(),
        "hostname" => quirks::set_hostname(&mut url, &value).is_ok(),
        "port" => quirks::set_port(&mut url, &value).is_ok(),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            true
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            true
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            true
        }
        _ => false,
    };
    if changed {
        parts(given.realm, &url)
    } else {
        given.realm.undefined()
    }
}

/// `(query)`: names and values in turn.
pub(super) fn parse_query<R: Realm>(given: &mut Arguments<'_, R>) -> R::Value {
    let query = given.text(0);
    let mut flat = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        flat.push(given.realm.string(&name));
        flat.push(given.realm.string(&value));
    }
    given.realm.array(flat)
}

/// `(flat)`: names and values in turn as a query string.
pub(super) fn format_query<R: Realm>(given: &mut Arguments<'_, R>) -> R::Value {
    let flat = given.value(0);
    let mut texts = Vec::new();
    for index in 0.. {
        let Some(value) = given
            .realm
            .element(&flat, index)
            .and_then(|property| property.into_value())
        else {
            break;
        };
        match given.realm.kind(&value) {
            Kind::String(text) => texts.push(text.into_lossy()),
            _ => break,
        }
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    for pair in texts.chunks_exact(2) {
        query.append_pair(&pair[0], &pair[1]);
    }
    given.realm.string(&query.finish())
}

fn parts<R: Realm>(realm: &mut R, url: &Url) -> R::Value {
    let query = url[Position::BeforeQuery..Position::AfterQuery].trim_start_matches('?');
    let mut parts: Vec<(String, R::Value)> = members(url)
        .into_iter()
        .map(|(name, text)| (name.to_owned(), realm.string(&text)))
        .collect();
    parts.push(("query".to_owned(), realm.string(query)));
    realm.object(parts)
}

/// The members of a URL that are texts, in the order in which Node prints them.
pub(in crate::engine::javascript) fn members(url: &Url) -> [(&'static str, String); 11] {
    [
        ("href", url.as_str().to_owned()),
        ("origin", quirks::origin(url)),
        ("protocol", quirks::protocol(url).to_owned()),
        ("username", quirks::username(url).to_owned()),
        ("password", quirks::password(url).to_owned()),
        ("host", quirks::host(url).to_owned()),
        ("hostname", quirks::hostname(url).to_owned()),
        ("port", quirks::port(url).to_owned()),
        ("pathname", quirks::pathname(url).to_owned()),
        ("search", quirks::search(url).to_owned()),
        ("hash", quirks::hash(url).to_owned()),
    ]
}
