import unittest

from shop.basket import total


class Basket(unittest.TestCase):
    def test_prices_add_up(self):
        self.assertEqual(total(["12.30", "7"]), 1930)

    def test_a_discount_is_taken_off(self):
        self.assertEqual(total(["10.00"], discount=10), 900)

    def test_half_a_cent_of_discount_is_rounded_up(self):
        self.assertEqual(total(["0.50"], discount=5), 47)
