"""Clusters as the tools read them: dumps, lists, and what is known of one."""
