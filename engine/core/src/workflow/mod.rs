//! The YAML file as typed data; every value the user wrote keeps its place in the file.
