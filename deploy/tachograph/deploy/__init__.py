"""The local stack and its containers. Exports nothing: a server's process must not import what starts it.

Start reading at ``stack.py`` (start), ``status.py`` (look and stop) and ``accounts.py`` (who may do what).
"""
