"""The commands of the tools, one file each: parse, call, print."""
