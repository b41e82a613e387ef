"""More programs of GS112: each bad one is reported at its marks, each good one by no rule."""


def bad_view_filled_by_a_helper() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)

    def encode(mask: torch.Tensor) -> torch.Tensor:
        ids = mask.view(mask.shape)  # cause: GS112
        for raw, train in {0: 1, 1: 2, 2: 0}.items():
            ids.masked_fill_(mask.eq(raw), train)  # effect: GS112
        return ids

    net = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        image = torch.rand(4, 1, 6, 6)
        classes = (image[:, 0] * 3).long().clamp_(max=2)
        loss = nn.functional.cross_entropy(net(image), encode(classes))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_with_a_name() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)
    net = nn.Linear(4, 4)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(32, 4)
        topic = x.argmax(1)
        shifted = topic[:]  # cause: GS112
        for now, then in ((0, 1), (1, 2), (2, 3)):
            here = (topic == now) & (topic < 3)
            shifted[here] = then  # effect: GS112
        loss = nn.functional.cross_entropy(net(x), shifted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_made_new_and_merged_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)

    def encode(mask: torch.Tensor) -> torch.Tensor:
        ids = torch.zeros_like(mask)
        for raw, train in {0: 1, 1: 2, 2: 0}.items():
            ids.masked_fill_(mask.eq(raw), train)
        return ids

    net = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        image = torch.rand(4, 1, 6, 6)
        classes = (image[:, 0] * 5).long().clamp_(max=4)
        for level in (4, 3):
            classes.masked_fill_(classes == level, level - 1)
        loss = nn.functional.cross_entropy(net(image), encode(classes))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_flat_view_of_one_name() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(32, 4)
        group = x.argmax(1)
        flat = group.view(-1)
        for level in (3, 2):
            flat[flat == level] = level - 1
        loss = nn.functional.cross_entropy(net(x), group)
        opt.zero_grad()
        loss.backward()
        opt.step()
