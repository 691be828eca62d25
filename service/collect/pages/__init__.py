"""Serve the HTML pages, one blueprint each: voters, organisers, the bare address, and images and sounds of items."""

from flask import Blueprint

from service.collect import assets
from service.collect.pages import home, organiser
from service.collect.pages.voter import voter

PAGES: tuple[Blueprint, ...] = (voter, organiser.blueprint, assets.blueprint, home.blueprint)
