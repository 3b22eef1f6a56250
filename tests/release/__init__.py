"""What a release is made of, how it is built, and that what is built can be installed and used."""
