"""What a file is: found, opened as a relation, written; nothing about scores."""
