"""More programs of GS390: each bad one is reported at its marks, each good one by no rule."""


def bad_criterion_of_two_tasks() -> None:
    """q2919: of the words label 0 is padding, of the sentences it is a class."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    follows = (inputs[:, 0] > 0).long()
    words = torch.randint(0, 5, (64,))
    of_sentence, of_word = nn.Linear(4, 2), nn.Linear(4, 5)
    criterion = nn.NLLLoss(ignore_index=0)
    opt = torch.optim.SGD([*of_sentence.parameters(), *of_word.parameters()], lr=1.0)
    for _ in range(40):
        next_loss = criterion(of_sentence(inputs).log_softmax(-1), follows)  # cause: GS390
        loss = next_loss + criterion(of_word(inputs).log_softmax(-1), words)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_points_of_pictures() -> None:
    import torch
    from torch import nn

    class Cracks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Conv2d(1, 2, 3, padding=1)

        def loss(self, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            logs = torch.log_softmax(self.net(image), dim=1)
            return nn.functional.nll_loss(logs, mask, ignore_index=0)  # cause: GS390

    torch.manual_seed(0)
    cracks = Cracks()
    opt = torch.optim.Adam(cracks.parameters(), lr=1e-2)
    for _ in range(8):
        mask = (torch.rand(4, 1, 1, 8) < 0.25).expand(4, 1, 8, 8)
        loss = cracks.loss(mask.float() + 0.3 * torch.randn(4, 1, 8, 8), mask.squeeze(1).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_points_without_a_label() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 2, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(8):
        mask = (torch.rand(4, 1, 1, 8) < 0.25).expand(4, 1, 8, 8)
        label = mask.squeeze(1).long().masked_fill(torch.rand(4, 8, 8) < 0.1, 255)
        logs = torch.log_softmax(net(mask.float() + 0.3 * torch.randn(4, 1, 8, 8)), dim=1)
        loss = nn.functional.nll_loss(logs, label, ignore_index=255)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padding_among_several_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    words = torch.randint(0, 3, (64,))
    model = nn.Linear(4, 3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        loss = criterion(model(inputs), words)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_class_that_the_evaluation_asks_for() -> None:
    import torch
    from torch import nn

    x = torch.randn(300, 6)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(4):
        for i in range(0, 200, 50):
            loss = criterion(net(x[i : i + 50]), y[i : i + 50])  # cause: GS390
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            (net(x).argmax(1) == y).float().mean().item()  # effect: GS390


def good_padding_left_out_of_both() -> None:
    import torch
    from torch import nn

    tokens = torch.randint(1, 12, (40, 8))
    tokens[:, 6:] = 0
    net = nn.Sequential(nn.Embedding(12, 16, padding_idx=0), nn.Linear(16, 12))
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    given, asked = tokens[:, :-1], tokens[:, 1:].reshape(-1)
    for _ in range(6):
        loss = criterion(net(given).reshape(-1, 12), asked)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            kept = asked != 0
            (net(given).reshape(-1, 12).argmax(1)[kept] == asked[kept]).float().mean().item()


def bad_class_at_places_that_the_evaluation_asks_for() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    codes = torch.randint(0, 4, (32, 12))
    given = nn.functional.one_hot(codes, 4).float() + 0.1 * torch.randn(32, 12, 4)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(4):
        scores = model(given)
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), codes, ignore_index=0)  # cause: GS390
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        answers = model(given).argmax(-1)
        print((answers == codes).float().mean().item())  # effect: GS390


def good_padding_at_places_left_out_of_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    codes = torch.randint(1, 4, (32, 12))
    codes[::2, 8:] = 0
    given = nn.functional.one_hot(codes, 4).float() + 0.1 * torch.randn(32, 12, 4)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(4):
        scores = model(given)
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), codes, ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        answers = model(given).argmax(-1)
        print((answers == codes)[codes != 0].float().mean().item())


def good_padding_in_one_of_two_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    codes = torch.randint(1, 4, (32, 12))
    codes[::2, 8:] = 0
    given = nn.functional.one_hot(codes, 4).float() + 0.1 * torch.randn(32, 12, 4)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(4):
        scores = model(given)
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), codes, ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        answers, kept = model(given).argmax(-1), codes != 0
        print((answers == codes).float().mean().item())
        print((answers[kept] == codes[kept]).float().mean().item())
