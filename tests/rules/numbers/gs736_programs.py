"""More programs of GS736: each bad one is reported at its marks, each good one by no rule."""


def bad_tokens_back_to_a_map() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, conv = nn.Linear(5, 6), nn.Conv2d(6, 2, 3)
    opt = torch.optim.SGD([*embed.parameters(), *conv.parameters()], lr=0.1)
    for _ in range(3):
        tokens = embed(torch.randn(8, 16, 5))
        maps = torch.tanh(tokens).reshape(8, 6, 4, 4)  # cause: GS736
        scores = conv(maps).mean((2, 3))  # effect: GS736
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def bad_series_of_a_convolution() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, norm, head = nn.Conv1d(3, 6, 3), nn.LayerNorm(6), nn.Linear(6, 2)
    opt = torch.optim.SGD([*conv.parameters(), *norm.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        series = conv(torch.randn(8, 3, 12))
        rows = torch.relu(series).view(8, 10, 6)  # cause: GS736
        scores = head(norm(rows)).mean(1)  # effect: GS736
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def bad_classes_of_pixels() -> None:
    """The width is a multiple of the number of classes: each row of scores is of one class and three places."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        scores = net(torch.randn(2, 1, 6, 6)).view(-1, 3)  # cause: GS736
        labels = torch.randint(0, 3, (2, 6, 6))
        loss = nn.functional.cross_entropy(scores, labels.view(-1))  # effect: GS736
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_classes_of_pixels_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 4, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        scores = net(torch.randn(2, 1, 6, 5)).reshape(-1, 4)  # cause: GS736
        labels = torch.randint(0, 4, (2, 6, 5)).reshape(-1)
        terms = []
        for c in range(4):
            one = scores[:, c]  # effect: GS736
            terms.append(nn.functional.binary_cross_entropy_with_logits(one, (labels == c).float()))
        opt.zero_grad()
        torch.stack(terms).sum().backward()
        opt.step()


def good_one_place_each() -> None:
    """Pooled to a single place: nothing has to be moved."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.AdaptiveAvgPool2d(1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        scores = net(torch.randn(5, 1, 6, 6)).view(-1, 3)
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (5,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_moved_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        scores = net(torch.randn(2, 1, 6, 6)).movedim(1, -1).reshape(-1, 3)
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (2, 6, 6)).view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_anchors_of_a_detector() -> None:
    """Channels that are anchors by classes, split before they are moved."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 6, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        maps = net(torch.randn(4, 1, 5, 5))
        scores = maps.view(4, 2, 3, 5, 5).permute(0, 3, 4, 1, 2).reshape(4, -1, 3)
        labels = torch.randint(0, 3, (4, 50))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_features_grouped_anew() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(3, 6, 3), nn.Linear(8, 2)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        parts = conv(torch.randn(8, 3, 6, 6)).view(8, 12, 8)
        scores = head(parts).mean(1)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_moved_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(3, 6, 3), nn.Linear(6, 2)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        maps = conv(torch.randn(8, 3, 6, 6))
        scores = head(maps.permute(0, 2, 3, 1).reshape(8, 16, 6)).mean(1)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_flattened_for_a_linear_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(3, 6, 3), nn.Linear(96, 2)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        scores = head(conv(torch.randn(8, 3, 6, 6)).view(8, -1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_there_and_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, back, last = nn.Conv2d(3, 6, 3), nn.Linear(6, 6), nn.Conv2d(6, 2, 3)
    opt = torch.optim.SGD([*conv.parameters(), *back.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        tokens = back(conv(torch.randn(8, 3, 6, 6)).flatten(2).transpose(1, 2))
        scores = last(tokens.transpose(1, 2).reshape(8, 6, 4, 4)).mean((2, 3))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_image_from_a_vector() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, conv = nn.Linear(5, 96), nn.Conv2d(6, 2, 3)
    opt = torch.optim.SGD([*first.parameters(), *conv.parameters()], lr=0.1)
    for _ in range(3):
        scores = conv(first(torch.randn(8, 5)).view(8, 6, 4, 4)).mean((2, 3))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def bad_evaluated_by_the_same_view() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Conv1d(3, 4, 1)
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(3):
        x, part = torch.randn(8, 3, 16), torch.randint(0, 4, (8, 16))
        scores = torch.log_softmax(body(x), dim=1)
        rows = scores.contiguous().view(-1, 4)  # cause: GS736
        opt.zero_grad()
        nn.functional.nll_loss(rows, part.view(-1)).backward()  # effect: GS736
        opt.step()
    with torch.no_grad():
        scores = torch.log_softmax(body(torch.randn(6, 3, 16)), dim=1)
        best = scores.contiguous().view(-1, 4).argmax(1)
    assert best.shape == (96,)


def good_both_moved_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Conv1d(3, 4, 1)
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(3):
        x, part = torch.randn(8, 3, 16), torch.randint(0, 4, (8, 16))
        scores = torch.log_softmax(body(x), dim=1)
        rows = scores.transpose(1, 2).reshape(-1, 4)
        opt.zero_grad()
        nn.functional.nll_loss(rows, part.view(-1)).backward()
        opt.step()
    with torch.no_grad():
        scores = torch.log_softmax(body(torch.randn(6, 3, 16)), dim=1)
        best = scores.transpose(1, 2).reshape(-1, 4).argmax(1)
    assert best.shape == (96,)


def bad_steps_of_a_recurrent_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sense, memory, decide = nn.Conv1d(3, 6, 5), nn.GRU(6, 8, batch_first=True), nn.Linear(8, 4)
    opt = torch.optim.SGD([p for m in (sense, memory, decide) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        seen = torch.relu(sense(torch.randn(8, 3, 20)))
        steps = seen.reshape(seen.size(0), -1, 6)  # cause: GS736
        _, last = memory(steps)  # effect: GS736
        opt.zero_grad()
        nn.functional.cross_entropy(decide(last[-1]), torch.randint(0, 4, (8,))).backward()
        opt.step()


def good_steps_of_a_recurrent_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sense, memory, decide = nn.Conv1d(3, 6, 5), nn.GRU(6, 8, batch_first=True), nn.Linear(8, 4)
    opt = torch.optim.SGD([p for m in (sense, memory, decide) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        seen = torch.relu(sense(torch.randn(8, 3, 20)))
        _, last = memory(seen.transpose(1, 2))
        opt.zero_grad()
        nn.functional.cross_entropy(decide(last[-1]), torch.randint(0, 4, (8,))).backward()
        opt.step()
