"""Ratios, each measured in one run on one machine; `make bench` prints them with what was compared."""
