//! `warmcell mcp install`: writes this server into a client's configuration, and leaves everything else there as it is.
//!
//! A file that cannot be read as what it should be is not touched. What is written appears all at once, by a rename.

mod json;

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::usage;

/// The name under which clients know this server.
const SERVER: &str = "warmcell";

/// Write this server into the configuration of an MCP client
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The client
    #[arg(long, value_enum)]
    client: Client,
    /// The folder that cells work in [default: where the client starts the server]
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// The client's configuration [default: the user's own]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show what would be written, and where, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Client {
    /// Claude Code: `~/.claude.json`
    Claude,
    /// Codex: `~/.codex/config.toml`
    Codex,
    /// Cursor: `~/.cursor/mcp.json`
    Cursor,
}

/// How the client starts the server.
struct Start {
    command: String,
    arguments: Vec<String>,
}

pub(super) fn main(options: &Options) -> anyhow::Result<u8> {
    let file = match &options.config {
        Some(file) => file.clone(),
        None => options.client.file()?,
    };
    let start = Start::of(options.workspace.as_deref())?;
    if fs::metadata(&file).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(usage(format!(
            "`{}` is not a regular file, and is left as it is",
            file.display()
        )));
    }
    let before = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", file.display()));
        }
    };
    let merge = |text: &str| match options.client {
        Client::Claude | Client::Cursor => json::merge(text, &start),
        Client::Codex => merge_toml(text, &start),
    };
    let after = merge(&before)
        .map_err(|problem| usage(format!("`{}` is left as it is: {problem}", file.display())))?;
    let mut stdout = io::stdout();
    if options.dry_run {
        // The rest of the file is nobody's business: some clients keep tokens there.
        let entry = merge("").map_err(usage)?;
        writeln!(stdout, "would write into {}:\n{entry}", file.display())?;
        return Ok(0);
    }
    let after = match before.contains("\r\n") {
        true => after.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => after,
    };
    replace(&file, &after).with_context(|| format!("cannot write `{}`", file.display()))?;
    writeln!(stdout, "wrote `{SERVER}` into {}", file.display())?;
    Ok(0)
}

impl Client {
    /// The user's own configuration.
    fn file(self) -> anyhow::Result<PathBuf> {
        let home = env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
            .ok_or_else(|| {
                usage("there is no `HOME`\nhint: name the file with `--config`".to_owned())
            })?;
        Ok(match self {
            Self::Claude => home.join(".claude.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Codex => match env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty()) {
                Some(folder) => PathBuf::from(folder).join("config.toml"),
                None => home.join(".codex/config.toml"),
            },
        })
    }
}

impl Start {
    fn of(workspace: Option<&Path>) -> anyhow::Result<Self> {
        let command = env::current_exe().context("cannot tell where this program is")?;
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(workspace) = workspace {
            let folder = workspace.canonicalize().map_err(|error| {
                usage(format!(
                    "cannot use the workspace `{}`: {error}",
                    workspace.display()
                ))
            })?;
            arguments.push("--workspace".to_owned());
            arguments.push(text_of(&folder)?);
        }
        Ok(Self {
            command: text_of(&command)?,
            arguments,
        })
    }
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| usage(format!("`{}` is not UTF-8 text", path.display())))
}

fn merge_toml(text: &str, start: &Start) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| format!("it is not TOML: {error}"))?;
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut servers = Table::new();
        // Only the servers themselves have headings.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or("`mcp_servers` is no table")?;
    let server = servers
        .entry(SERVER)
        .or_insert_with(|| Item::Table(Table::new()));
    let server = server
        .as_table_like_mut()
        .ok_or("`mcp_servers.warmcell` is no table")?;
    server.insert("command", value(start.command.as_str()));
    let arguments: Array = start.arguments.iter().map(String::as_str).collect();
    server.insert("args", value(arguments));
    Ok(document.to_string())
}

/// Puts a file in the place of another, which keeps its rights; a link stays one.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{}", std::process::id()));
    let written = write_new(&new, &file, text).and_then(|()| fs::rename(&new, &file));
    if written.is_err() {
        // What went wrong before matters more.
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_new(new: &Path, old: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(new)?;
    if let Ok(metadata) = fs::metadata(old) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start {
            command: "/bin/warmcell".to_owned(),
            arguments: vec!["mcp".to_owned()],
        }
    }

    #[test]
    fn what_stands_in_a_toml_file_stays() {
        let before = "# mine\nmodel = \"o\" # best\n\n[mcp_servers.other]\ncommand = 'x'\n\n[mcp_servers.warmcell]\ncommand = \"old\"\nenv = { A = \"1\" }\n";
        let after = merge_toml(before, &start()).expect("TOML");
        assert_eq!(
            after,
            "# mine\nmodel = \"o\" # best\n\n[mcp_servers.other]\ncommand = 'x'\n\n[mcp_servers.warmcell]\ncommand = \"/bin/warmcell\"\nenv = { A = \"1\" }\nargs = [\"mcp\"]\n"
        );
        assert_eq!(
            merge_toml("", &start()).expect("TOML"),
            "[mcp_servers.warmcell]\ncommand = \"/bin/warmcell\"\nargs = [\"mcp\"]\n"
        );
        assert!(merge_toml("mcp_servers = 5", &start()).is_err());
        assert!(merge_toml("{", &start()).is_err());
    }
}
