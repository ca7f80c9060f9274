//! warmcell
