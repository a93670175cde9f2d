"""The way back: models that were learned from a release are judged on real people, within the ledger's budget.

A court is a folder of the owner's: people who are set aside, what is to be found of each, and what was answered.
Submissions are data, never code. Every answer is a sum over people of integers that one person moves by a bounded
amount, with exact noise, entered in the ledger before the noise is drawn (docs/guarantees/judge.md). `recveil.judge`
opens one.
"""
