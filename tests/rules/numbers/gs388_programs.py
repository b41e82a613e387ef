"""More programs of GS388: each bad one is reported at its marks, each good one by no rule."""


def bad_places_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 12)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    place = nn.Parameter(torch.randn(16, 1, 8))
    opt = torch.optim.Adam([place, *(p for m in (words, encoder, head) for p in m.parameters())], lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for _ in range(4):
        lengths = torch.randint(3, 8, (12,))
        tokens = torch.randint(2, 12, (16, 12)) * (torch.arange(16).unsqueeze(1) < lengths)
        labels = tokens.clone()
        masked = torch.bernoulli(torch.full((16, 12), 0.4)).bool()
        labels[~masked] = -100  # cause: GS388
        y = encoder(
            words(tokens.masked_fill(masked, 1)) + place, src_key_padding_mask=(tokens == 0).transpose(0, 1)
        )
        loss = criterion(head(y).view(-1, 12), labels.view(-1))  # effect: GS388
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_end_of_rows_is_foretold() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, place, head = nn.Embedding(12, 8), nn.Embedding(16, 8), nn.Linear(8, 12)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([p for m in (words, place, attention, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        tokens = (torch.randint(0, 12, (16, 1)) + torch.arange(16)) % 12
        to_come = torch.arange(16) >= torch.randint(3, 8, (16, 1))
        x = words(tokens.masked_fill(to_come, 0)) + place(torch.arange(16))
        y, _ = attention(x, x, x, key_padding_mask=to_come)
        labels = tokens.masked_fill(~to_come, -100)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), labels.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_places_to_predict_are_hidden() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    place, number, head = nn.Embedding(16, 8), nn.Linear(1, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([p for m in (place, number, attention, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 16)
        hidden = torch.rand(12, 16) < 0.4
        h = number(x.masked_fill(hidden, 0.0).unsqueeze(2)) + place(torch.arange(16))
        y, _ = attention(h, h, h, key_padding_mask=hidden)
        labels = (x > 0).long().masked_fill(~hidden, -100)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), labels.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_picked_by_a_mask_that_was_drawn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    note, beat, guess = nn.Embedding(20, 8), nn.Parameter(torch.zeros(1, 24, 8)), nn.Linear(8, 20)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    opt = torch.optim.AdamW([*note.parameters(), beat, *guess.parameters(), *layer.parameters()], lr=3e-3)
    for _ in range(4):
        notes = 2 + (torch.randint(0, 18, (16, 1)) + 3 * torch.arange(24)) % 18
        song = torch.where(torch.arange(24) < torch.randint(4, 10, (16, 1)), notes, 0)
        silence = song.eq(0)
        drawn = torch.rand(song.shape) < 0.3  # cause: GS388
        given = torch.where(drawn, 1, song)
        scores = guess(layer(note(given) + beat, src_key_padding_mask=silence))
        loss = nn.functional.cross_entropy(scores[drawn], song[drawn])  # effect: GS388
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_picked_by_a_mask_without_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    note, beat, guess = nn.Embedding(20, 8), nn.Parameter(torch.zeros(1, 24, 8)), nn.Linear(8, 20)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    opt = torch.optim.AdamW([*note.parameters(), beat, *guess.parameters(), *layer.parameters()], lr=3e-3)
    for _ in range(4):
        notes = 2 + (torch.randint(0, 18, (16, 1)) + 3 * torch.arange(24)) % 18
        song = torch.where(torch.arange(24) < torch.randint(4, 10, (16, 1)), notes, 0)
        silence = song.eq(0)
        drawn = (torch.rand(song.shape) < 0.3) & ~silence
        given = torch.where(drawn, 1, song)
        scores = guess(layer(note(given) + beat, src_key_padding_mask=silence))
        loss = nn.functional.cross_entropy(scores[drawn], song[drawn])
        opt.zero_grad()
        loss.backward()
        opt.step()
