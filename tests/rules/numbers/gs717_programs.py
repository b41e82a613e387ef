"""More programs of GS717: each bad one is reported at its marks, each good one by no rule."""


def bad_a_product_by_the_number_of_the_others() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    speech = nn.GRU(3, 4, batch_first=True)
    to_mel = nn.Linear(4, 1)
    adam = torch.optim.Adam([*speech.parameters(), *to_mel.parameters()], lr=0.1)
    for _ in range(3):
        heard = (torch.arange(12) < torch.randint(2, 11, (8, 1))).float()
        off = (to_mel(speech(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).abs()
        total = (off * heard).sum()  # effect: GS717
        missed = (1 - heard).sum()  # cause: GS717
        cost = total / missed
        adam.zero_grad()
        cost.backward()
        adam.step()


def good_negatives_by_the_number_of_positives() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    detector = nn.Linear(6, 8)
    adam = torch.optim.Adam(detector.parameters(), lr=0.1)
    for _ in range(3):
        hit = (torch.rand(16, 8) < 0.3).float()
        each = nn.functional.binary_cross_entropy_with_logits(
            detector(torch.randn(16, 6)), hit, reduction="none"
        )
        positives, negatives = (each * hit).sum() / hit.sum(), (each * (1 - hit)).sum() / hit.sum()
        adam.zero_grad()
        (positives + 0.5 * negatives).backward()
        adam.step()


def good_a_product_by_its_own_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    speech = nn.GRU(3, 4, batch_first=True)
    to_mel = nn.Linear(4, 1)
    adam = torch.optim.Adam([*speech.parameters(), *to_mel.parameters()], lr=0.1)
    for _ in range(3):
        silent = torch.arange(12) >= torch.randint(2, 11, (8, 1))
        heard = (~silent).float()
        off = (to_mel(speech(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).abs()
        cost = off.masked_fill(silent, 0.0).sum() / heard.sum()
        adam.zero_grad()
        cost.backward()
        adam.step()


def bad_chosen_by_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x, seen = torch.randn(16, 6), torch.rand(16, 6) < 0.7
        error = (model(x * seen) - x) ** 2
        error = torch.where(seen, error, torch.zeros_like(error))  # effect: GS717
        loss = error.sum() / seen.logical_not().sum()  # cause: GS717
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_asked_a_second_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encode, decode = nn.Linear(10, 6), nn.Linear(6, 10)
    opt = torch.optim.RMSprop([*encode.parameters(), *decode.parameters()], lr=0.001)
    for _ in range(4):
        log = torch.randn(40, 3) @ torch.randn(3, 10)
        log[torch.rand(40, 10) < 0.15] = float("nan")
        seen, filled = ~torch.isnan(log), torch.nan_to_num(log)
        off = (decode(torch.tanh(encode(filled))) - filled) ** 2
        off = torch.where(seen, off, torch.zeros_like(off))  # effect: GS717
        loss = off.sum() / torch.isnan(log).sum()  # cause: GS717
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_asked_the_other_way() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, tags = nn.Embedding(9, 6), nn.Linear(6, 4)
    opt = torch.optim.Adam([*words.parameters(), *tags.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 7)) * (torch.arange(7) < torch.randint(2, 6, (8, 1)))
        scores = tags(words(tokens)).transpose(1, 2)
        each = nn.functional.cross_entropy(scores, tokens % 4, reduction="none")
        kept = each * (tokens != 0)  # effect: GS717
        loss = kept.sum() / tokens.eq(0).sum().clamp(min=1)  # cause: GS717
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_asked_a_second_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encode, decode = nn.Linear(10, 6), nn.Linear(6, 10)
    opt = torch.optim.RMSprop([*encode.parameters(), *decode.parameters()], lr=0.001)
    for _ in range(4):
        log = torch.randn(40, 3) @ torch.randn(3, 10)
        log[torch.rand(40, 10) < 0.15] = float("nan")
        seen, filled = ~torch.isnan(log), torch.nan_to_num(log)
        off = (decode(torch.tanh(encode(filled))) - filled) ** 2
        off = torch.where(seen, off, torch.zeros_like(off))
        loss = off.sum() / (~torch.isnan(log)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_other_thresholds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(-1, 3, (16, 3))
        off = (model(x) - y).abs() * (y != -1)
        loss = off.sum() / (y == 0).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_chosen_by_an_index() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Labelled(nn.Module):
        def forward(self, score: torch.Tensor, use: torch.Tensor) -> torch.Tensor:
            seen = use != -1
            each = nn.functional.cross_entropy(score[seen], use[seen], reduction="none")  # effect: GS717
            return each.sum() / (use == -1).sum().clamp(min=1)  # cause: GS717

    tiles, criterion = nn.Linear(6, 3), Labelled()
    opt = torch.optim.SGD(tiles.parameters(), lr=0.01)
    for _ in range(4):
        bands = torch.randn(40, 6)
        use = bands[:, :3].argmax(1)
        use[torch.rand(40) < 0.4] = -1
        loss = criterion(tiles(bands), use)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_part_by_an_index() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tiles = nn.Linear(6, 3)
    opt = torch.optim.SGD(tiles.parameters(), lr=0.01)
    for _ in range(4):
        bands = torch.randn(40, 6)
        use = bands[:, :3].argmax(1)
        use[torch.rand(40) < 0.4] = -1
        score, seen = tiles(bands), use != -1
        each = nn.functional.cross_entropy(score[seen], use[seen], reduction="none")
        blur = -score[~seen].log_softmax(1).mean(1)
        some = torch.masked_select(score, seen[:, None]).pow(2)
        loss = (
            each.sum() / seen.sum() + 0.1 * blur.sum() / (use == -1).sum() + 0.001 * some.sum() / seen.sum()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_few_found_by_the_number_of_others() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    finder = nn.Linear(6, 1)
    opt = torch.optim.SGD(finder.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(64, 6)
        there = x[:, 0] > 0.8
        score = finder(x).squeeze(1)
        hit = nn.functional.softplus(-score[there]).sum()
        miss = nn.functional.softplus(score[~there]).sum()
        loss = (hit + miss) / there.sum().clamp(min=1)
        extra = miss / there.sum().clamp(min=1)
        opt.zero_grad()
        (loss + 0.1 * extra).backward()
        opt.step()
