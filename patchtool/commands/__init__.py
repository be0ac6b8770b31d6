"""One verb per file.

In come a session and the verb's options, out comes a ``Report``. A verb calls the steps of ``workflow`` in order, never
prints, and never imports another verb.
"""
