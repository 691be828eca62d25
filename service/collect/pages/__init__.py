"""The HTML pages, a file for voters and one for organisers, and what items show; each has a blueprint of Flask."""

from flask import Blueprint

from service.collect.pages import assets, organiser
from service.collect.pages.voter import voter

PAGES: tuple[Blueprint, ...] = (voter, organiser.blueprint, assets.blueprint)
