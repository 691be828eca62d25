"""The HTML pages, a file for voters and one for organisers; each has a blueprint of Flask."""

from flask import Blueprint

PAGES: tuple[Blueprint, ...] = ()
