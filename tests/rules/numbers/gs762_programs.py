"""Further programs of GS762."""


def bad_entropy_of_all_steps() -> None:
    """One term is averaged over the mask, the other over everything."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 4)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        mask = (torch.arange(12) < torch.randint(1, 6, (8, 1))).float()
        logs = head(rnn(torch.randn(8, 12, 3))[0]).log_softmax(-1)
        chosen = logs.gather(-1, torch.randint(0, 4, (8, 12, 1))).squeeze(-1)
        policy = -(chosen * mask).sum() / mask.sum()
        entropy = -(logs.exp() * logs).sum(-1)
        loss = policy - 0.01 * entropy.mean()  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def bad_mean_of_each_sample() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 9, 4), torch.randint(0, 6, (8, 9))
        weights = torch.ones_like(y)
        weights[torch.arange(9) >= torch.randint(2, 6, (8, 1))] = 0
        each = nn.functional.cross_entropy(model(x).permute(0, 2, 1), y, reduction="none")
        loss = (each * weights).mean(dim=1)  # cause: GS762
        opt.zero_grad()
        loss.sum().backward()  # effect: GS762
        opt.step()


def bad_sum_of_all_places_by_the_count() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 9, 4), torch.randint(0, 6, (8, 9))
        mask = torch.arange(9) < torch.randint(2, 9, (8, 1))
        each = nn.functional.cross_entropy(model(x).permute(0, 2, 1), y, reduction="none")
        loss = each.sum() / mask.sum()  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def bad_sums_of_samples_by_their_count() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)

    def average(values: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        return (-values.sum(1) / count).mean()  # cause: GS762

    for _ in range(3):
        mask = (torch.arange(12) >= torch.randint(2, 11, (8, 1))).float()
        error = -(head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        loss = average(error, mask.sum(1).clamp(min=1))
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def good_sum_of_what_the_loss_ignores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 9, 4), torch.randint(0, 6, (8, 9))
        mask = torch.arange(9) < torch.randint(2, 9, (8, 1))
        y[~mask] = -100
        each = nn.functional.cross_entropy(model(x).permute(0, 2, 1), y, reduction="none")
        loss = each.sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_boxes_by_the_number_that_hold_something() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        x, found = torch.randn(8, 20, 4), torch.rand(8, 20) < 0.2
        each = nn.functional.binary_cross_entropy_with_logits(
            model(x).squeeze(-1), found.float(), reduction="none"
        )
        loss = each.sum() / found.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sum_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        x, y, lengths = torch.randn(8, 9, 4), torch.randint(0, 6, (8, 9)), torch.randint(2, 6, (8, 1))
        weights = torch.arange(9) < lengths
        each = nn.functional.cross_entropy(model(x).permute(0, 2, 1), y, reduction="none")
        loss = (each * weights).sum(dim=1).mean() + ((each * weights).mean(1) * 9 / lengths[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_features_are_averaged_with_their_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(1, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 9, 4), torch.randint(0, 2, (8,))
        mask = (torch.arange(9) < torch.randint(2, 6, (8, 1))).float()
        pooled = (score(x).squeeze(-1) * mask).mean(1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled.unsqueeze(1)), y).backward()
        opt.step()


def good_divided_by_the_share() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        mask = (torch.arange(12) < torch.randint(1, 6, (8, 1))).float()
        error = (net(torch.randn(8, 12, 3)).squeeze(-1) - torch.randn(8, 12)).pow(2)
        loss = (error * mask).mean() / mask.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rewards_of_zero_and_one() -> None:
    """A policy's gradient: the mean over all actions, of which some had a reward."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        logs = net(torch.randn(8, 12, 3)).log_softmax(-1)[..., 0]
        rewards = (torch.rand(8, 12) < 0.3).float()
        loss = -(logs * rewards).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pairs_alike_and_not() -> None:
    """The two terms of a contrastive loss share one mean."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        a, b = net(torch.randn(16, 3)), net(torch.randn(16, 3))
        same = (torch.arange(16) < 5).float()
        far = (a - b).norm(dim=1)
        loss = (same * far.pow(2)).mean() + ((1 - same) * torch.relu(1 - far).pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_penalty_of_all_units() -> None:
    """A mean over another form than the mask's: a penalty of the weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        mask = (torch.arange(12) < torch.randint(1, 6, (8, 1))).float()
        error = (net(torch.randn(8, 12, 3)).squeeze(-1) - torch.randn(8, 12)).pow(2)
        loss = (error * mask).sum() / mask.sum() + 0.01 * net.weight.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_once_before() -> None:
    """All terms have met the mask, and divide by what counts."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        mask = (torch.arange(12) < torch.randint(1, 6, (8, 1))).float()
        out = net(torch.randn(8, 12, 3)) * mask.unsqueeze(-1)
        total = out.pow(2).sum() / mask.sum()
        loss = total + out[..., 0].abs().mean() * (mask.numel() / mask.sum())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_divided_by_a_constant() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(1, 6, (8, 1))
        mask = (torch.arange(12) < lengths).float()
        error = (head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        # a constant divisor, as in Dr. GRPO: long answers are not to count less
        loss = (error * mask).mean() + ((error * mask).sum(-1) / 12).mean() + (error * mask).sum() / (8 * 12)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_both_sides_masked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 6)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    mse = nn.MSELoss()
    for _ in range(3):
        frames, wanted = torch.randn(8, 20, 4), torch.randn(8, 20, 6)
        kept = (torch.arange(20) < torch.tensor([20, 3, 4, 5, 2, 6, 3, 4])[:, None]).float().unsqueeze(-1)
        opt.zero_grad()
        loss = mse(net(frames) * kept, wanted * kept)  # cause: GS762
        loss.backward()  # effect: GS762
        opt.step()


def good_both_sides_masked_and_divided() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 6)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        sound, aim = torch.randn(8, 20, 4), torch.randn(8, 20, 6)
        valid = (torch.arange(20) < torch.tensor([20, 3, 4, 5, 2, 6, 3, 4])[:, None]).float().unsqueeze(-1)
        opt.zero_grad()
        total = nn.functional.mse_loss(net(sound) * valid, aim * valid, reduction="sum")
        (total / (6 * valid.sum())).backward()
        opt.step()


def bad_padding_set_to_zero_by_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, out = nn.Embedding(30, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*table.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        sizes = torch.randint(2, 10, (8, 1))
        text, pad = torch.randint(1, 30, (8, 20)), torch.arange(20) >= sizes
        each = nn.functional.cross_entropy(out(table(text)).mT, text % 5, reduction="none")
        each = torch.where(pad, torch.zeros_like(each), each)
        loss = torch.mean(each)  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def bad_padding_set_to_zero_by_its_index() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, out = nn.Embedding(30, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*table.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        sizes = torch.randint(2, 10, (8, 1))
        text, pad = torch.randint(1, 30, (8, 20)), torch.arange(20) >= sizes
        each = nn.functional.cross_entropy(out(table(text)).mT, text % 5, reduction="none")
        each[pad] = 0.0
        loss = each.mean()  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def bad_padding_filled_with_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, out = nn.Embedding(30, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*table.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        sizes = torch.randint(2, 10, (8, 1))
        text, real = torch.randint(1, 30, (8, 20)), torch.arange(20) < sizes
        each = nn.functional.cross_entropy(out(table(text)).mT, text % 5, reduction="none")
        loss = each.masked_fill(~real, 0.0).mean()  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def good_padding_set_to_zero_and_divided_by_what_counts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, out = nn.Embedding(30, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*table.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        sizes = torch.randint(2, 10, (8, 1))
        text, pad = torch.randint(1, 30, (8, 20)), torch.arange(20) >= sizes
        each = nn.functional.cross_entropy(out(table(text)).mT, text % 5, reduction="none")
        each = torch.where(pad, torch.zeros_like(each), each)
        loss = torch.sum(each) / (~pad).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_errors_below_a_bound_set_to_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        error = (model(torch.randn(8, 6)) - torch.randn(8, 12)).abs()
        loss = torch.where(error < 0.5, torch.zeros_like(error), error).mean()  # a dead zone
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_time_comes_first() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.05)
    for _ in range(3):
        lengths = [20, *torch.randint(2, 7, (7,)).tolist()]
        seen = [torch.randn(length, 3) for length in lengths]
        wanted = pad_sequence([one.sum(1).cumsum(0) for one in seen])
        masks = pad_sequence([torch.ones(length) for length in lengths])
        error = (head(rnn(pad_sequence(seen))[0]).squeeze(-1) - wanted) ** 2
        loss = torch.mean(error * masks)  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def good_time_comes_first() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.05)
    for _ in range(3):
        lengths = [20, *torch.randint(2, 7, (7,)).tolist()]
        seen = [torch.randn(length, 3) for length in lengths]
        wanted = pad_sequence([one.sum(1).cumsum(0) for one in seen])
        masks = pad_sequence([torch.ones(length) for length in lengths])
        error = (head(rnn(pad_sequence(seen))[0]).squeeze(-1) - wanted) ** 2
        loss = torch.sum(error * masks) / torch.sum(masks)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_step_has_its_own_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    allowed = torch.ones(6, 4).triu(-2)
    for _ in range(3):
        x = torch.randn(6, 6)
        probability = torch.softmax(model(x), 1)
        loss = -(probability * allowed).sum(1).clamp(min=1e-6).log().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_pooled_over_a_padded_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer, head = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (embedding, layer, head) for p in one.parameters()], lr=0.1)
    for _ in range(4):
        rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(2, 12, (8,))]
        ids, y = nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.randint(0, 2, (8,))
        mask = (ids != 0).float()
        hidden = torch.tanh(layer(embedding(ids))) * mask.unsqueeze(-1)
        pooled = hidden.mean(dim=1)  # cause: GS762
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()  # effect: GS762
        opt.step()


def bad_pooled_behind_a_turn_of_the_axes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer, head = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (embedding, layer, head) for p in one.parameters()], lr=0.1)

    def encode(ids: torch.Tensor) -> torch.Tensor:
        return torch.tanh(layer(embedding(ids))).masked_fill((ids == 0).unsqueeze(-1), 0.0)

    for _ in range(4):
        rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(2, 12, (8,))]
        ids, y = nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.randint(0, 2, (8,))
        pooled = torch.mean(encode(ids).transpose(1, 2), 2)  # cause: GS762
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()  # effect: GS762
        opt.step()


def good_pooled_and_divided_by_what_counts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer, head = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (embedding, layer, head) for p in one.parameters()], lr=0.1)
    for _ in range(4):
        rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(2, 12, (8,))]
        ids, y = nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.randint(0, 2, (8,))
        mask = (ids != 0).float().unsqueeze(-1)
        hidden = torch.tanh(layer(embedding(ids))) * mask
        pooled = hidden.mean(dim=1) / mask.mean(dim=1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()
        opt.step()


def good_pooled_and_brought_to_one_size() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer, head = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (embedding, layer, head) for p in one.parameters()], lr=0.1)
    for _ in range(4):
        rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(2, 12, (8,))]
        ids, y = nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.randint(0, 2, (8,))
        mask = (ids != 0).float().unsqueeze(-1)
        hidden = torch.tanh(layer(embedding(ids))) * mask
        pooled = nn.functional.normalize(hidden.mean(dim=1), dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()
        opt.step()


def good_a_mean_over_the_numbers_of_each_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer, head = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 6), nn.Linear(12, 2)
    opt = torch.optim.SGD([p for one in (embedding, layer, head) for p in one.parameters()], lr=0.1)
    for _ in range(4):
        mask = (torch.arange(12) < torch.randint(2, 13, (8, 1))).float()
        ids, y = torch.randint(1, 20, (8, 12)) * mask.long(), torch.randint(0, 2, (8,))
        hidden = torch.tanh(layer(embedding(ids))) * mask.unsqueeze(-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden.mean(dim=-1)), y).backward()
        opt.step()
