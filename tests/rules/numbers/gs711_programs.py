"""More programs of GS711: each bad one is reported at its marks, each good one by no rule."""


def bad_attention_with_a_first_token() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Parameter(torch.zeros(1, 1, 8))
            self.attention = nn.MultiheadAttention(8, 2)  # cause: GS711
            self.norm = nn.LayerNorm(8)
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
            x = self.norm(x + self.attention(x, x, x)[0])
            return self.head(x[:, 0])  # effect: GS711

    model = Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(6, 4, 8)), torch.randint(0, 3, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_batch_first_of_what_has_time_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(3, 4, num_layers=2, batch_first=True)  # cause: GS711
    head = nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        steps = torch.randn(5, 7, 3)  # five steps of seven samples
        out, _ = rnn(steps)
        last = out[-1]  # effect: GS711
        loss = nn.functional.mse_loss(head(torch.relu(last)).squeeze(1), torch.randn(7))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_layers_along_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one = nn.LSTM(3, 4)  # cause: GS711
    two, head = nn.LSTM(4, 4), nn.Linear(4, 2)
    parameters = [*one.parameters(), *two.parameters(), *head.parameters()]
    opt = torch.optim.SGD(parameters, lr=0.1)
    for _ in range(3):
        out, _ = two(torch.dropout(one(torch.randn(8, 5, 3))[0], 0.1, True))
        loss = nn.functional.cross_entropy(
            head(out[:, -1, :]),  # effect: GS711
            torch.randint(0, 2, (8,)),
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_last_step_of_time_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, (hidden, _) = rnn(torch.randn(5, 8, 3))
        loss = nn.functional.cross_entropy(head(out[-1]) + head(hidden[-1]), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_sequence_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(6, 3, 3))
        targets = torch.randint(0, 2, (6, 3))
        loss = sum(nn.functional.cross_entropy(head(out[:, i]), targets[:, i]) for i in range(3))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_sequence_on_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(9, 1, 3))
        loss = nn.functional.mse_loss(head(out[:, 0]).squeeze(1), torch.randn(9))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_query_among_what_was_seen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    attention, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.SGD([*attention.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        episodes = torch.randn(6, 5, 8)  # the last of each is asked for
        seen, _ = attention(episodes, episodes, episodes)
        loss = nn.functional.cross_entropy(head(seen[:, -1]), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_other_sequences_used_elsewhere() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(9, 4, 3))  # four related series, of which the first is to be told
        loss = nn.functional.mse_loss(head(out[:, 0]).squeeze(1), torch.randn(9))
        loss = loss + 0.1 * out[:, 1:].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_points_that_attend_to_each_other() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    across, head = nn.MultiheadAttention(8, 2), nn.Linear(8, 2)
    opt = torch.optim.SGD([*across.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        points = torch.randn(7, 8).unsqueeze(1)  # samples that look at each other, as one sequence
        mixed, _ = across(points, points, points)
        loss = nn.functional.cross_entropy(head(mixed[:, 0]), torch.randint(0, 2, (7,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_batch_of_a_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 5, 3), torch.randint(0, 2, (24,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)  # cause: GS711
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for x, y in loader:  # effect: GS711
        out, _ = rnn(x)
        loss = nn.functional.cross_entropy(head(out.mean(dim=1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_tags_of_shuffled_sentences() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, tags = torch.randint(0, 9, (40, 6)), torch.randint(0, 3, (40, 6))
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 3)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)  # cause: GS711
    opt = torch.optim.SGD([*embedding.parameters(), *layer.parameters(), *head.parameters()], lr=0.1)
    for chosen in torch.randperm(40).split(10):
        inputs = embedding(words[chosen])  # effect: GS711
        loss = nn.functional.cross_entropy(head(layer(inputs)).flatten(0, 1), tags[chosen].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mean_of_what_is_no_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(3, 4)  # cause: GS711
    head = nn.Linear(20, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(8, 5, 3))
        loss = nn.functional.mse_loss(head(out.flatten(1)), torch.randn(8, 1))  # effect: GS711
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_batch_of_a_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 5, 3), torch.randint(0, 2, (24,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    rnn, other, head = nn.LSTM(3, 4, batch_first=True), nn.GRU(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *other.parameters(), *head.parameters()], lr=0.1)
    for x, y in loader:
        first, second = rnn(x)[0].mean(dim=1), other(x.transpose(0, 1))[0].mean(dim=0)
        loss = nn.functional.cross_entropy(head(first + second), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_windows_of_a_loader_in_order() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    series = torch.randn(40, 4, 3)  # forty moments of four series
    loader = DataLoader(TensorDataset(series[:-1], series[1:]), batch_size=8)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for x, y in loader:
        loss = nn.functional.mse_loss(head(rnn(x)[0]), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_samples_that_attend_to_each_other() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rows, targets = torch.randn(40, 3, 8), torch.randint(0, 2, (40,))
    features = nn.MultiheadAttention(8, 2, batch_first=True)
    samples, head = nn.MultiheadAttention(24, 2, batch_first=True), nn.Linear(24, 2)
    opt = torch.optim.SGD([*features.parameters(), *samples.parameters(), *head.parameters()], lr=0.1)
    for chosen in torch.randperm(40).split(10):
        x = rows[chosen]
        x = features(x, x, x)[0].reshape(1, 10, 24)  # all rows of the batch as one sequence
        loss = nn.functional.cross_entropy(head(samples(x, x, x)[0][0]), targets[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_collated_with_time_first() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    data = [(torch.randn(3 + i % 3, 3), i % 2) for i in range(24)]

    def collate(batch: list[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        return pad_sequence([x for x, _ in batch]), torch.tensor([y for _, y in batch])

    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for x, y in DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate):
        loss = nn.functional.cross_entropy(head(rnn(x)[0].mean(dim=0)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_rows_of_all_pictures_as_one_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, head = nn.Conv2d(3, 8, 1), nn.Linear(8, 1)
    attend = nn.MultiheadAttention(8, 2)  # cause: GS711
    opt = torch.optim.SGD([p for m in (stem, attend, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        maps = stem(torch.randn(4, 3, 5, 6))
        rows = maps.permute(0, 2, 3, 1).reshape(20, 6, 8)  # effect: GS711
        seen = rows + attend(rows, rows, rows)[0]
        loss = nn.functional.mse_loss(head(seen).view(4, 5, 6), torch.rand(4, 5, 6))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_series_of_all_places_of_a_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rnn, head = nn.GRU(2, 4), nn.Linear(4, 1)  # cause: GS711
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    data = TensorDataset(torch.randn(16, 3, 5, 2), torch.randn(16, 3, 5))
    for x, y in DataLoader(data, batch_size=8, shuffle=True):  # batch, places, steps, features
        out, _ = rnn(x.view(24, 5, 2))  # effect: GS711
        loss = nn.functional.mse_loss(head(out).view(8, 3, 5), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_folded_into_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, head = nn.Conv2d(3, 8, 1), nn.Linear(8, 1)
    attend, down = nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2)
    opt = torch.optim.SGD([p for m in (stem, attend, down, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        maps = stem(torch.randn(4, 3, 5, 6))
        rows = maps.permute(0, 2, 3, 1).reshape(20, 6, 8)
        seen = (rows + attend(rows, rows, rows)[0]).view(4, 5, 6, 8)
        columns = seen.transpose(0, 1).reshape(5, 24, 8)
        seen = columns + down(columns, columns, columns)[0]
        loss = nn.functional.mse_loss(head(seen).view(5, 4, 6), torch.rand(5, 4, 6))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_places_of_pictures_before_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, head = nn.Conv2d(3, 8, 1), nn.Linear(8, 3)
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    opt = torch.optim.SGD([p for m in (stem, layer, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        tokens = stem(torch.randn(4, 3, 5, 6)).flatten(2).permute(2, 0, 1)
        loss = nn.functional.cross_entropy(head(layer(tokens).mean(0)), torch.randint(0, 3, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_frames_that_a_convolution_takes_for_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, head = nn.Conv2d(3, 4, 3), nn.Linear(6, 2)
    rnn = nn.GRU(16, 6)
    opt = torch.optim.SGD([p for m in (stem, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        frames = stem(torch.randn(35, 3, 4, 4)).flatten(1)  # seven steps of five films
        out, _ = rnn(frames.view(7, 5, 16))
        loss = nn.functional.cross_entropy(head(out[-1]), torch.randint(0, 2, (5,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_tokens_in_one_row_with_a_mask_that_keeps_samples_apart() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, head = nn.Conv1d(3, 8, 1), nn.Linear(8, 1)
    attend = nn.MultiheadAttention(8, 2)
    opt = torch.optim.SGD([p for m in (stem, attend, head) for p in m.parameters()], lr=0.1)
    whose = torch.arange(4).repeat_interleave(5)
    for _ in range(3):
        tokens = stem(torch.randn(4, 3, 5)).transpose(1, 2).reshape(20, 1, 8).expand(20, 2, 8)
        mixed, _ = attend(tokens, tokens, tokens, attn_mask=whose[:, None] != whose)
        loss = nn.functional.mse_loss(head(mixed).squeeze(-1), torch.rand(20, 2))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_with_a_state_of_as_many_places() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    lstm, head = nn.LSTM(6, 12), nn.Linear(12, 4)  # cause: GS711
    opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)

    def begin(places):
        return torch.zeros(1, places, 12), torch.zeros(1, places, 12)

    data = TensorDataset(torch.randn(32, 5, 6), torch.randint(4, (32, 5)))
    for x, y in DataLoader(data, batch_size=8, shuffle=True):  # effect: GS711
        out, _ = lstm(x, begin(5))
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).transpose(1, 2), y).backward()
        opt.step()


def bad_step_by_step_along_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.LSTM(3, 4)  # cause: GS711
    head = nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)

    def tag(words: torch.Tensor) -> torch.Tensor:
        state, given = None, []
        for step in words.transpose(0, 1):
            out, state = rnn(step.unsqueeze(1), state)  # effect: GS711
            given.append(out)
        return head(torch.cat(given, dim=1))

    for _ in range(3):
        scores = tag(torch.randn(8, 5, 3))  # eight samples of five words
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(2, (40,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_step_by_step_and_stacked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(3, 4, num_layers=2)  # cause: GS711
    head = nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, state, given = torch.randn(8, 5, 3), None, []
        for t in range(x.size(1)):
            out, state = rnn(x[:, t].unsqueeze(1), state)  # effect: GS711
            given.append(out.squeeze(1))
        scores = head(torch.stack(given, 1))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(2, (40,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_step_by_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        state, given = None, []
        for step in torch.randn(8, 5, 3).transpose(0, 1):
            out, state = rnn(step.unsqueeze(1), state)
            given.append(out)
        scores = head(torch.cat(given, dim=1))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(2, (40,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_long_series_in_parts() -> None:
    """Parts of one series, one after the other: the state goes from the end of one to the beginning of the next."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        state, given = None, []
        for part in torch.randn(5, 8, 3):
            out, state = rnn(part.unsqueeze(1), state)
            given.append(out)
        scores = head(torch.cat(given, dim=0))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(2, (40,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
