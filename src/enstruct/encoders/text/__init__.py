"""Texts as rows of numbers: tf-idf, which needs nothing else, and pretrained encoders (extra ``text``)."""

from enstruct.encoders.text.pretrained import EncodedText as EncodedText
from enstruct.encoders.text.pretrained import TextEncoder as TextEncoder
from enstruct.encoders.text.tfidf import TextFeatures as TextFeatures
from enstruct.encoders.text.trunk import convert as convert
from enstruct.encoders.text.trunk import download as download
from enstruct.encoders.text.words import Beside as Beside
from enstruct.encoders.text.words import EncodedWords as EncodedWords
from enstruct.encoders.text.words import keeping_features as keeping_features
