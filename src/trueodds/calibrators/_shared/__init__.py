"""What calibrators have in common. Everything beside this folder is a method."""
