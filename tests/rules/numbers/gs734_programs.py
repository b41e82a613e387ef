"""More programs of GS734: each bad one is reported at its marks, each good one by no rule."""


def bad_same_name_twice() -> None:  # fix: by hand
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        output = model(x)
        like = F.mse_loss(output, output)  # cause: GS734
        loss = F.cross_entropy(output, target) + like
        opt.zero_grad()
        loss.backward()  # effect: GS734
        opt.step()


def bad_inside_one_call() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        wanted, output = teacher(x).detach(), model(x)
        like = F.mse_loss(  # effect: GS734
            torch.sigmoid(wanted / 3),  # cause: GS734
            torch.sigmoid(wanted / 3),
        )
        loss = F.cross_entropy(output, target) + like
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_teacher_compared_with_its_detached_self() -> None:  # fix: by hand
    import torch
    import torch.nn.functional as F
    from torch import nn

    student, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)

    def consistency(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        other = other.detach()
        return F.mse_loss(one.softmax(-1), other.softmax(-1))  # cause: GS734  # effect: GS734

    for _ in range(6):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        with torch.no_grad():
            weak = teacher(x)
        strong = weak
        loss = F.cross_entropy(student(x), y) + 10 * consistency(strong, weak)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_draws_of_dropout() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        one = model(F.dropout(x, 0.5))
        two = model(F.dropout(x, 0.5))
        like = F.kl_div(one.log_softmax(1), two.log_softmax(1), log_target=True, reduction="batchmean")
        loss = F.cross_entropy(one, target) + like
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_same_line_with_another_temperature() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        soft = [F.softmax(model(x) / t, dim=1) for t in (1.0, 4.0)]
        loss = F.cross_entropy(model(x), target) + F.mse_loss(soft[0], soft[1])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_same_text_with_another_temperature() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        output, t = model(x), 1.0
        sharp = F.softmax(output / t, dim=1)
        t = 4.0
        flat = F.softmax(output / t, dim=1)
        loss = F.cross_entropy(output, target) + F.mse_loss(sharp, flat)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_same_text_of_another_network() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        scores = teacher(x).detach()
        wanted = F.log_softmax(scores / 2, dim=1)
        scores = model(x)
        soft = F.log_softmax(scores / 2, dim=1)
        like = F.kl_div(soft, wanted, log_target=True, reduction="batchmean")
        loss = F.cross_entropy(scores, target) + like
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_crops_of_one_image() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        one = F.normalize(x + 0.1 * torch.randn_like(x), dim=1)
        two = F.normalize(x + 0.1 * torch.randn_like(x), dim=1)
        loss = F.cross_entropy(model(one), target) + F.mse_loss(model(one), model(two)) + F.mse_loss(one, two)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_positive_is_the_anchor() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        anchor, negative = torch.randn(16, 4), torch.randn(16, 4)
        a, p, n = model(anchor), model(anchor), model(negative)
        loss = nn.functional.triplet_margin_loss(a, p, n)  # cause: GS734
        opt.zero_grad()
        loss.backward()  # effect: GS734
        opt.step()


def bad_positives_drawn_at_the_anchors_places() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(4, 3), nn.TripletMarginLoss(margin=0.5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data, labels = torch.randn(40, 4), torch.arange(40) % 4
    for _ in range(6):
        anchors = torch.randint(0, 40, (16,))
        alike = (labels[anchors, None] == labels).float()
        positives = (alike + torch.eye(40)[anchors]).argmax(1)
        negatives = torch.multinomial(1 - alike, 1).squeeze(1)
        out = [model(data[rows]) for rows in (anchors, positives, negatives)]
        loss = criterion(*out)  # cause: GS734
        opt.zero_grad()
        loss.backward()  # effect: GS734
        opt.step()


def good_some_positives_are_their_anchor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(4, 3), nn.TripletMarginLoss(margin=0.5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data, labels = torch.randn(40, 4), torch.arange(40) % 4
    for _ in range(6):
        anchors = torch.randint(0, 40, (16,))
        alike = (labels[anchors, None] == labels).float()
        positives = torch.multinomial(alike, 1).squeeze(1)
        negatives = torch.multinomial(1 - alike, 1).squeeze(1)
        loss = criterion(model(data[anchors]), model(data[positives]), model(data[negatives]))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_noisy_looks_at_one_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Dropout(0.3), nn.Linear(4, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        anchor, negative = torch.randn(16, 4), torch.randn(16, 4)
        loss = nn.functional.triplet_margin_loss(model(anchor), model(anchor), model(negative))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_style_of_one_picture_twice() -> None:  # fix: by hand
    import torch
    from torch import nn

    def gram(maps: torch.Tensor) -> torch.Tensor:
        _, c, h, w = maps.shape
        return torch.einsum("bchw,bdhw->bcd", maps, maps) / (c * h * w)

    torch.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).requires_grad_(False)
    painter = nn.Conv2d(3, 3, 3, padding=1)
    opt = torch.optim.Adam(painter.parameters(), lr=0.01)
    style = torch.rand(1, 3, 6, 6)
    for _ in range(6):
        content = torch.rand(4, 3, 6, 6)
        of_made, of_content, of_style = (features(x) for x in (painter(content), content, style))
        gap = gram(of_style) - gram(of_style)  # cause: GS734  # effect: GS734
        loss = nn.functional.mse_loss(of_made, of_content) + 20 * gap.square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_style_of_two_pictures() -> None:
    import torch
    from torch import nn

    def gram(maps: torch.Tensor) -> torch.Tensor:
        _, c, h, w = maps.shape
        return torch.einsum("bchw,bdhw->bcd", maps, maps) / (c * h * w)

    torch.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).requires_grad_(False)
    painter = nn.Conv2d(3, 3, 3, padding=1)
    opt = torch.optim.Adam(painter.parameters(), lr=0.01)
    style = torch.rand(1, 3, 6, 6)
    for _ in range(6):
        content = torch.rand(4, 3, 6, 6)
        of_made, of_content, of_style = (features(x) for x in (painter(content), content, style))
        gap = gram(of_made) - gram(of_style)
        loss = nn.functional.mse_loss(of_made, of_content) + 20 * gap.square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scaled_by_pythons_random_numbers() -> None:
    """Two looks at one sample: the same calls of the same values, with other numbers."""
    import random

    import torch
    from torch import nn

    def louder(x: torch.Tensor) -> torch.Tensor:
        return x * random.uniform(0.5, 1.5)

    torch.manual_seed(0)
    random.seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        gap = model(louder(x)) - model(louder(x))
        loss = nn.functional.cross_entropy(model(x), y) + gap.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_dropout_that_is_switched_off() -> None:
    """Equal numbers for now: with a probability above 0 the two looks differ."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.0), nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        out = model(x)
        loss = nn.functional.cross_entropy(out, y) + (model(x) - model(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_kept_weights_compared_with_a_slice_of_themselves() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(8):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        penalty = torch.tensor(0.0)
        for name, p in model.named_parameters():
            old = kept[name]
            p = old[: old.shape[0]]  # cause: GS734
            penalty += (p - old).pow(2).sum()  # effect: GS734
        opt.zero_grad()
        (nn.functional.cross_entropy(model(x), y) + penalty).backward()
        opt.step()


def good_weights_compared_with_a_slice_of_those_kept() -> None:
    """A head that grows by classes is held near the old one in the old classes."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(8):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        penalty = torch.tensor(0.0)
        for name, p in model.named_parameters():
            old = kept[name]
            penalty += (p[: old.shape[0]] - old[: p.shape[0]]).pow(2).sum()
        opt.zero_grad()
        (nn.functional.cross_entropy(model(x), y) + penalty).backward()
        opt.step()


def good_distances_of_all_pairs_of_fixed_points() -> None:
    """A kernel of data without a graph, and what its neighbours differ by."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    points = torch.randn(12, 4)
    for _ in range(8):
        far = (points[:, None] - points[None, :]).pow(2).sum(-1)
        smooth = (points[1:] - points[:-1]).pow(2).mean()
        answers = model(points)[:, 0]
        loss = ((-far).exp() * (answers[:, None] - answers[None, :]).pow(2)).mean() + 0.1 * smooth
        opt.zero_grad()
        (loss + (answers - points[:, 0]).pow(2).mean()).backward()
        opt.step()
