//! HDR histogram log lines, format 1.3: written and read.
