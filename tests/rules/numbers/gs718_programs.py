"""More programs of GS718: each bad one is reported at its marks, each good one by no rule."""


def bad_grouped_by_the_sender() -> None:
    import torch
    from torch import nn

    def within_rows(score: torch.Tensor, group: torch.Tensor, count: int) -> torch.Tensor:
        raised = (score - score.max().detach()).exp()
        whole = torch.zeros(count, 1).index_add(0, group, raised)  # effect: GS718
        return raised / (whole[group] + 1e-12)  # cause: GS718

    torch.manual_seed(0)
    wires = torch.stack([torch.arange(12), torch.arange(12) % 4])
    body, mark, last = nn.Linear(3, 5), nn.Linear(5, 1), nn.Linear(5, 2)
    opt = torch.optim.Adam([*body.parameters(), *mark.parameters(), *last.parameters()], lr=0.01)
    for _ in range(8):
        begin, end = wires
        sent = body(torch.randn(12, 3))[begin]
        weight = within_rows(mark(sent), wires[0], 12)
        heard = torch.zeros(4, 5).index_add(0, end, sent * weight)
        opt.zero_grad()
        nn.functional.cross_entropy(last(heard), torch.arange(4) % 2).backward()
        opt.step()


def good_ratio_of_a_value_to_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(8):
        chance = policy(torch.randn(12, 3)).softmax(-1)[:, 0]
        gain = torch.randn(12)
        opt.zero_grad()
        (-(chance / chance.detach()) * gain).mean().backward()
        opt.step()


def good_one_sender_for_each() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    origin, place = torch.arange(12), torch.arange(12) % 4
    body, mark, last = nn.Linear(3, 5), nn.Linear(5, 1), nn.Linear(5, 2)
    opt = torch.optim.Adam([*body.parameters(), *mark.parameters(), *last.parameters()], lr=0.01)
    for _ in range(8):
        sent = body(torch.randn(12, 3))[origin]
        raised = mark(sent).exp()
        whole = torch.zeros(4, 1).index_add(0, place, raised)
        heard = torch.zeros(4, 5).index_add(0, place, sent * (raised / whole[place]))
        opt.zero_grad()
        nn.functional.cross_entropy(last(heard), torch.arange(4) % 2).backward()
        opt.step()


def bad_the_other_index_in_another_shape() -> None:
    import torch
    from torch import nn

    class Lakes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.well, self.grade, self.lake = nn.Linear(4, 10), nn.Linear(10, 1), nn.Linear(10, 1)

        def forward(self, wells: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
            water = self.well(wells).relu()[start]
            grown = self.grade(water).squeeze(-1).exp()
            total = torch.zeros(12).scatter_add(0, start, grown)  # effect: GS718
            weight = grown / total.gather(0, start)  # cause: GS718
            places = end[:, None].expand(-1, 10)
            brought = torch.zeros(4, 10).scatter_add(0, places, weight[:, None] * water)
            return self.lake(brought).squeeze(-1)

    torch.manual_seed(0)
    flow = Lakes()
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    for _ in range(8):
        wells, start, end = torch.randn(12, 4), torch.randperm(12), torch.arange(12) % 4
        loss = nn.functional.mse_loss(flow(wells, start, end), torch.randn(4))
        opt.zero_grad()
        loss.backward()
        opt.step()
