"""More programs of GS382: each bad one is reported at its marks, each good one by no rule."""


def bad_edges_of_all_nodes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    source, goal = torch.randint(6, (20,)), torch.arange(20) % 6
    layer, rate, head = nn.Linear(3, 5), nn.Linear(5, 1, bias=False), nn.Linear(5, 2)
    opt = torch.optim.Adam([*layer.parameters(), *rate.parameters(), *head.parameters()], lr=0.01)
    for _ in range(8):
        sent = layer(torch.randn(6, 3))[source]
        weights = rate(sent).squeeze(1).softmax(0)  # cause: GS382
        goals = goal[:, None].expand(20, 5)
        heard = torch.zeros(6, 5).scatter_add(0, goals, sent * weights[:, None])  # effect: GS382
        opt.zero_grad()
        nn.functional.cross_entropy(head(heard), torch.arange(6) % 2).backward()
        opt.step()


def bad_pooled_in_a_module() -> None:
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = nn.Parameter(torch.randn(4, 1) * 0.1)

        def forward(self, x: torch.Tensor, index: torch.Tensor, groups: int) -> torch.Tensor:
            share = (x @ self.kernel).squeeze(-1)
            share = torch.softmax(share, dim=0)  # cause: GS382
            out = torch.zeros(groups, x.shape[1])
            return out.index_add(0, index, share[:, None] * x)  # effect: GS382

    torch.manual_seed(0)
    pool, head = Pool(), nn.Linear(4, 2)
    opt = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        x, index = torch.randn(12, 4), torch.arange(12) // 3
        opt.zero_grad()
        nn.functional.cross_entropy(head(pool(x, index, 4)), torch.randint(2, (4,))).backward()
        opt.step()
    pool.eval()
    with torch.no_grad():
        print(head(pool(torch.randn(3, 4), torch.zeros(3, dtype=torch.long), 1)).argmax())


def good_the_size_is_taken_out() -> None:
    """Shares of the whole, and those of a group are divided by what they sum to."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1, bias=False), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        nodes, graph = torch.randn(12, 4), torch.arange(12) // 3
        weights = torch.softmax(score(nodes), dim=0)
        sums = torch.zeros(4, 1).index_add(0, graph, weights)
        pooled = torch.zeros(4, 4).index_add(0, graph, weights * nodes) / sums
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), torch.randint(2, (4,))).backward()
        opt.step()


def good_experts_of_each_token() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    router, experts, head = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), nn.Linear(4, 2)
    opt = torch.optim.Adam([*router.parameters(), *experts.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        tokens = torch.randn(12, 4)
        weights, chosen = router(tokens).softmax(-1).topk(2, dim=-1)
        out = torch.zeros(12, 4)
        for i, expert in enumerate(experts):
            rows, place = (chosen == i).nonzero(as_tuple=True)
            out = out.index_add(0, rows, weights[rows, place][:, None] * expert(tokens[rows]))
        opt.zero_grad()
        nn.functional.cross_entropy(head(out), torch.randint(2, (12,))).backward()
        opt.step()


def good_one_group() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1, bias=False), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        nodes, graph = torch.randn(12, 4), torch.zeros(12, dtype=torch.long)
        weights = torch.softmax(score(nodes), dim=0)
        pooled = torch.zeros(1, 4).index_add(0, graph, weights * nodes)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), torch.randint(2, (1,))).backward()
        opt.step()


def bad_bags_by_a_matrix_of_ones() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    attend, decide = nn.Linear(6, 1, bias=False), nn.Linear(6, 1)
    opt = torch.optim.Adam([*attend.parameters(), *decide.parameters()], lr=5e-3)
    for _ in range(5):
        slide = torch.repeat_interleave(torch.arange(4), torch.tensor([2, 3, 4, 2]))
        patches, sick = torch.randn(11, 6), torch.randint(0, 2, (4,)).float()
        alpha = nn.functional.softmax(attend(patches).squeeze(-1), dim=-1)  # cause: GS382
        member = nn.functional.one_hot(slide, 4).to(patches.dtype)
        bags = torch.einsum("ns,n,nd->sd", member, alpha, patches)  # effect: GS382
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(decide(bags).squeeze(-1), sick).backward()
        opt.step()


def bad_groups_by_a_comparison() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    attend, decide = nn.Linear(6, 1, bias=False), nn.Linear(6, 1)
    opt = torch.optim.Adam([*attend.parameters(), *decide.parameters()], lr=5e-3)
    for _ in range(5):
        slide = torch.repeat_interleave(torch.arange(4), torch.tensor([2, 3, 4, 2]))
        patches, sick = torch.randn(11, 6), torch.randint(0, 2, (4,)).float()
        alpha = attend(patches).softmax(0)  # cause: GS382
        member = (torch.arange(4)[:, None] == slide[None]).float()
        bags = member @ (alpha * patches)  # effect: GS382
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(decide(bags).squeeze(-1), sick).backward()
        opt.step()


def good_scores_hidden_outside_each_bag() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    attend, decide = nn.Linear(6, 1, bias=False), nn.Linear(6, 1)
    opt = torch.optim.Adam([*attend.parameters(), *decide.parameters()], lr=5e-3)
    for step in range(6):
        slide = torch.repeat_interleave(torch.arange(4), torch.tensor([2, 3, 4, 2]))
        patches, sick = torch.randn(11, 6), torch.randint(0, 2, (4,)).float()
        member = nn.functional.one_hot(slide, 4).to(patches.dtype)
        if step % 2:
            alpha = attend(patches).masked_fill(member == 0, float("-inf")).softmax(0)
            bags = torch.einsum("ns,nd->sd", alpha, patches)
        else:
            shares = attend(patches).softmax(0)
            bags = member.T @ (shares * patches) / (member.T @ shares)
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(decide(bags).squeeze(-1), sick).backward()
        opt.step()


def good_a_memory_read_by_one_hot_questions() -> None:
    """The softmax is over the places of a memory, for each question; the matrix chooses questions."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    memory, head = nn.Parameter(torch.randn(7, 5)), nn.Linear(5, 2)
    opt = torch.optim.Adam([memory, *head.parameters()], lr=5e-3)
    for _ in range(5):
        asked = torch.randint(0, 4, (12,))
        chosen = nn.functional.one_hot(asked, 4).float()
        weights = (torch.randn(7, 5) @ memory.t()[:, :4]).softmax(0)
        read = chosen @ (weights.t() @ memory)
        opt.zero_grad()
        nn.functional.cross_entropy(head(read), asked % 2).backward()
        opt.step()
