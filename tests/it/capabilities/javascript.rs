//! Calls from JavaScript and TypeScript.
