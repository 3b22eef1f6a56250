"""Tests of policies: the form of their files, how they are run, and how one is written."""
