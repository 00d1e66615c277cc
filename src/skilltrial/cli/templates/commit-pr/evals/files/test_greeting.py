import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_blanks_round_a_name_are_left_out(self) -> None:
        self.assertEqual(greet(" Ada "), "Good morning, Ada!")
