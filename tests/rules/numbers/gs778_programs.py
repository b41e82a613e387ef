"""More programs of GS778: each bad one is reported at its marks, each good one by no rule."""


def bad_words_first_and_targets_of_a_whole_text() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    opt = torch.optim.Adam([p for m in (embedding, encoder, head) for p in m.parameters()], lr=0.01)
    text = torch.randint(0, 9, (31, 4))
    for at in range(0, 30, 6):
        x, y = text[at : at + 6], text[at + 1 : at + 7].reshape(-1)
        h = embedding(x)
        scores = head(encoder(h))  # cause: GS778
        loss = nn.functional.cross_entropy(scores.view(-1, 9), y)  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_decoder_without_a_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    source, target, head = nn.Embedding(9, 8), nn.Embedding(9, 8), nn.Linear(8, 9)
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (source, target, model, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        src, tgt = torch.randint(0, 9, (4, 6)), torch.randint(0, 9, (4, 8))
        one, other = source(src), target(tgt[:, :-1])
        scores = head(model(one, other))  # cause: GS778
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), tgt[:, 1:])  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_own_attention_that_is_asked_all_but_the_last() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, qkv, head = nn.Embedding(9, 8), nn.Linear(8, 24), nn.Linear(8, 9)
    opt = torch.optim.Adam([p for m in (embedding, qkv, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 6))
        q, k, v = qkv(embedding(words)).chunk(3, -1)
        weights = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)
        scores = head(weights @ v)  # cause: GS778
        loss = nn.functional.cross_entropy(  # effect: GS778
            scores[:, :-1].reshape(-1, 9), words[:, 1:].reshape(-1)
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_attention_in_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, qkv, head = nn.Embedding(9, 8), nn.Linear(8, 24), nn.Linear(8, 9)
    opt = torch.optim.Adam([p for m in (embedding, qkv, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        q, k, v = (t.view(4, 6, 2, 4).transpose(1, 2) for t in qkv(embedding(words[:, :-1])).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)  # cause: GS778
        scores = head(mixed.transpose(1, 2).reshape(4, 6, 8))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_recurrent_layer_that_goes_both_ways() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(12, 9)
    rnn = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        out, _ = rnn(embedding(words[:, :-1]))  # cause: GS778
        loss = nn.functional.cross_entropy(head(out).flatten(0, 1), words[:, 1:].flatten())  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_convolution_padded_on_both_sides() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, conv, head = nn.Embedding(9, 8), nn.Conv1d(8, 12, 3, padding=1), nn.Conv1d(12, 9, 1)
    opt = torch.optim.Adam([p for m in (embedding, conv, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        h = conv(embedding(words[:, :-1]).transpose(1, 2)).relu()  # cause: GS778
        loss = nn.functional.cross_entropy(head(h), words[:, 1:])  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_causal_models() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, qkv, head = nn.Embedding(9, 8), nn.Linear(8, 24), nn.Linear(8, 9)
    rnn, conv = nn.GRU(8, 8, batch_first=True), nn.Conv1d(8, 8, 3)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    parts = (embedding, qkv, head, rnn, conv, layer)
    opt = torch.optim.Adam([p for m in parts for p in m.parameters()], lr=0.01)
    later = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        x = embedding(words[:, :-1])
        q, k, v = qkv(x).chunk(3, -1)
        own = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(later, float("-inf")).softmax(-1) @ v
        given = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        left = conv(nn.functional.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
        mixed = own + given + left + rnn(x)[0] + layer(x, src_mask=later, is_causal=True)
        loss = nn.functional.cross_entropy(head(mixed).flatten(0, 1), words[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_copying_with_an_encoder_that_sees_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (embedding, model, head) for p in m.parameters()], lr=0.01)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        scores = head(model(embedding(words), embedding(words[:, :-1]), tgt_mask=mask))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_words_that_are_masked_in_the_input() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(10, 8), nn.Linear(8, 9)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (embedding, layer, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (8, 6))
        hidden = torch.rand(8, 6) < 0.4
        scores = head(layer(embedding(words.masked_fill(hidden, 9))))
        loss = nn.functional.cross_entropy(scores[hidden], words[hidden])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sentences_and_tags() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, tag, head = nn.Embedding(9, 8), nn.Linear(16, 5), nn.Linear(16, 2)
    rnn = nn.LSTM(8, 8, batch_first=True, bidirectional=True)
    opt = torch.optim.Adam([p for m in (embedding, rnn, tag, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (8, 6))
        out, _ = rnn(embedding(words))
        loss = nn.functional.cross_entropy(tag(out).flatten(0, 1), (words % 5).flatten())
        loss = loss + nn.functional.cross_entropy(head(out.mean(1)), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_next_states_by_a_model_of_each_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, body, head = nn.Embedding(9, 8), nn.Linear(8, 16), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, body, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        scores = head(body(embedding(words[:, :-1])).relu())  # a bigram model
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_hides_the_earlier() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    opt = torch.optim.Adam([p for m in (embedding, layer, head) for p in m.parameters()], lr=0.01)
    mask = torch.tril(torch.ones(6, 6), diagonal=-1)
    mask = mask.masked_fill(mask == 1, float("-inf"))
    for _ in range(3):
        words = torch.randint(0, 9, (7, 4))
        scores = head(layer(embedding(words[:-1]), mask))  # cause: GS778
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[1:].flatten())  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_own_attention_hides_the_earlier() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head, project = nn.Embedding(9, 8), nn.Linear(8, 9), nn.Linear(8, 24)
    opt = torch.optim.Adam([p for m in (embedding, project, head) for p in m.parameters()], lr=0.01)
    hidden = torch.ones(6, 6).tril(-1).bool()
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        q, k, v = project(embedding(words[:, :-1])).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(hidden, float("-inf"))
        mixed = scores.softmax(-1) @ v  # cause: GS778
        loss = nn.functional.cross_entropy(head(mixed).flatten(0, 1), words[:, 1:].flatten())  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_asked_for_the_token_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    opt = torch.optim.Adam([p for m in (embedding, layer, head) for p in m.parameters()], lr=0.01)
    mask = torch.tril(torch.full((6, 6), float("-inf")), diagonal=-1)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        scores = head(layer(embedding(words[:, 1:]), mask))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, :-1].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
