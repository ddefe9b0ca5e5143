"""Beta calibration (Kull, Silva Filho and Flach 2017)."""
