"""Further programs of GS760."""


def bad_places_of_an_image() -> None:
    """Self-attention over the places of feature maps, as in GANs: the product takes the weights untransposed."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Conv2d(8, 8, 1) for _ in range(3))
            self.gamma = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            b, c, h, w = x.shape
            query = self.query(x).view(b, c, h * w).permute(0, 2, 1)
            key = self.key(x).view(b, c, h * w)
            attention = torch.bmm(query, key).softmax(dim=-1)  # cause: GS760
            value = self.value(x).view(b, c, h * w)
            out = torch.bmm(value, attention)  # effect: GS760
            return self.gamma * out.view(b, c, h, w) + x

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), Attention(), nn.Flatten(), nn.Linear(128, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(6, 3, 6, 6)), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_heads_by_einsum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    q, k, v, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)
    layers = nn.ModuleList([q, k, v, head])
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(5, 7, 8)
        a, b, c = (layer(x).view(5, 7, 2, 4) for layer in (q, k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", a, b)
        weights = nn.functional.dropout(torch.softmax(scores, dim=2), 0.1)  # cause: GS760
        out = torch.einsum("bhqk,bkhd->bqhd", weights, c).reshape(5, 7, 8)  # effect: GS760
        loss = nn.functional.mse_loss(head(out + x), torch.randn(5, 7, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_experts_over_the_batch() -> None:
    """A gate whose weights sum to one over the samples, and mixes the experts of each."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(6, 4), nn.ModuleList(nn.Linear(6, 3) for _ in range(4))
    opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(10, 6)
        weights = torch.softmax(gate(x), dim=0)  # cause: GS760
        outs = torch.stack([expert(x) for expert in experts], dim=1)
        scores = (weights.unsqueeze(-1) * outs).sum(1)  # effect: GS760
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (10,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_softmax_of_a_module() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
            self.softmax = nn.Softmax(dim=-2)  # cause: GS760

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) / 8**0.5
            scores = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), float("-inf"))
            return x + torch.matmul(self.softmax(scores), self.v(x))  # effect: GS760

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 8), Attention(), nn.Linear(8, 9))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        tokens = torch.randint(0, 9, (4, 7))
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_slots_normalised_twice() -> None:
    """Slot attention: the slots compete for each input, and each slot takes a mean."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    start = nn.Parameter(torch.randn(4, 8))
    q, k, v, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)
    opt = torch.optim.Adam([start, *nn.ModuleList([q, k, v, head]).parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(5, 7, 8)
        slots = start.expand(5, 4, 8)
        for _ in range(2):
            weights = torch.softmax(q(slots) @ k(x).transpose(1, 2), dim=1) + 1e-8
            weights = weights / weights.sum(-1, keepdim=True)
            slots = slots + weights @ v(x)
        loss = nn.functional.mse_loss(head(slots).mean(1), torch.randn(5, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_places_compete_and_take_means() -> None:
    """Inverted attention of places among each other, normalised a second time."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2), dim=1)
        weights = nn.functional.normalize(weights, p=1, dim=-1)
        scores = head((weights @ v).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_nodes_assigned_to_clusters() -> None:
    """Soft assignment: each node's weights sum to one over the clusters, and a cluster sums its nodes."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    assign, embed, head = nn.Linear(6, 3), nn.Linear(6, 8), nn.Linear(24, 2)
    opt = torch.optim.Adam(nn.ModuleList([assign, embed, head]).parameters(), lr=0.01)
    for _ in range(3):
        nodes = torch.randn(5, 9, 6)
        share = torch.softmax(assign(nodes), dim=-1)
        pooled = share.transpose(1, 2) @ embed(nodes)
        loss = nn.functional.cross_entropy(head(pooled.flatten(1)), torch.randint(0, 2, (5,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_capsules() -> None:
    """Routing: an input capsule's weights sum to one over the outputs, which sum over the inputs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    w = nn.Parameter(0.2 * torch.randn(1, 6, 3, 4, 5))
    opt = torch.optim.Adam([w], lr=0.01)
    for _ in range(3):
        votes = (w @ torch.randn(8, 6, 1, 5, 1)).squeeze(-1)
        logits = torch.zeros(8, 6, 3, 1)
        for _ in range(2):
            share = torch.softmax(logits, dim=2)
            out = (share * votes).sum(1, keepdim=True)
            logits = logits + (votes * out).sum(-1, keepdim=True)
        loss = nn.functional.cross_entropy(out.squeeze(1).norm(dim=-1), torch.randint(0, 3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_walk_of_two_steps() -> None:
    """Transition matrices from places to places, of which a row is multiplied by the next one's rows."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed = nn.Linear(6, 8)
    opt = torch.optim.Adam(embed.parameters(), lr=0.01)
    for _ in range(3):
        x = nn.functional.normalize(embed(torch.randn(4, 5, 6)), dim=-1)
        there = torch.softmax(x @ x.transpose(1, 2) / 0.1, dim=-1)
        again = torch.softmax(x @ x.transpose(1, 2) / 0.5, dim=-1)
        loss = nn.functional.nll_loss((there @ again).log().flatten(0, 1), torch.arange(5).repeat(4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_hidden_markov_model() -> None:
    """Transitions sum to one over the next states, and the forward pass sums over the states before."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    moves, emits = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4, 6))
    opt = torch.optim.Adam([moves, emits], lr=0.05)
    for _ in range(3):
        seen = torch.randint(0, 6, (8, 10))
        move, emit = moves.log_softmax(dim=1), emits.log_softmax(dim=1)
        alpha = emit[:, seen[:, 0]].t()
        for t in range(1, 10):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + move, dim=1) + emit[:, seen[:, t]].t()
        loss = -torch.logsumexp(alpha, dim=1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_alternating_normalisation() -> None:
    """Sinkhorn's: rows and columns in turn, over samples too."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, values = nn.Linear(6, 4), nn.Linear(6, 4)
    opt = torch.optim.Adam([*net.parameters(), *values.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(10, 6)
        plan = net(x).log_softmax(dim=0).log_softmax(dim=1)
        picked = torch.logsumexp(plan + values(x).unsqueeze(1).mean(1), dim=1)
        loss = picked.square().mean() + nn.functional.cross_entropy(net(x), torch.randint(0, 4, (10,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_linear_attention() -> None:
    """Keys sum to one over the places, queries over the features; each is summed over its own axis."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        context = k.softmax(dim=1).transpose(1, 2) @ v
        scores = head((q.softmax(dim=-1) @ context).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_samples_attend_to_each_other() -> None:
    """Attention between the samples of a batch, each of which gets a mean of all."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    q, k, v, head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 3)
    opt = torch.optim.Adam(nn.ModuleList([q, k, v, head]).parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(10, 6)
        weights = torch.softmax(k(x) @ q(x).t(), dim=0)
        scores = head(weights.t() @ v(x))
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (10,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_over_the_heads() -> None:
    import torch
    from torch import nn

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
            self.softmax = nn.Softmax(dim=1)  # cause: GS760

        def split(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(len(x), 5, 2, 4).transpose(1, 2)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            scores = (q @ k.transpose(-1, -2) / 2).masked_fill(mask, -1e9)
            mixed: torch.Tensor = self.softmax(scores) @ v  # effect: GS760
            return mixed.transpose(1, 2).flatten(2)

    torch.manual_seed(0)
    model, head = Heads(), nn.Linear(8, 2)
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 4] = True
    for _ in range(3):
        scores = head(model(torch.randn(4, 5, 8), mask).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_capsules_by_matrices() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(6, 3 * 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        votes = (
            project(torch.randn(4, 5, 6)).view(4, 5, 3, 4).transpose(1, 2)
        )  # (batch, parents, children, 4)
        chosen = torch.zeros(4, 3, 5)
        for _ in range(2):
            weights = chosen.softmax(1)  # each child chooses among the parents
            parents = (weights.unsqueeze(2) @ votes).squeeze(2)
            chosen = chosen + (votes @ parents.unsqueeze(3)).squeeze(3)
        opt.zero_grad()
        nn.functional.cross_entropy(head(parents).squeeze(2), torch.randint(0, 3, (4,))).backward()
        opt.step()


def good_pixels_attend_and_a_convolution_takes_them() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, out, head = nn.Conv2d(8, 24, 1), nn.Conv2d(8, 8, 1), nn.Linear(8, 2)
    layers = nn.ModuleList([project, out, head])
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(3):
        image = torch.randn(5, 8, 3, 4)
        q, k, v = project(image).reshape(5, 3, 8, 12).unbind(1)
        weights = torch.softmax(q.transpose(1, 2) @ k / 8**0.5, dim=-1)
        attended = (v @ weights.transpose(1, 2)).reshape(5, 8, 3, 4)
        scores = head((image + out(attended)).mean((2, 3)))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (5,))).backward()
        opt.step()


def bad_gathered_and_handed_out() -> None:
    """Double attention: features are gathered into maps, and each place takes a mean of what these gathered."""
    import torch
    from torch import nn

    class DoubleAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features, self.gather, self.share = (
                nn.Conv2d(6, 6, 1),
                nn.Conv2d(6, 4, 1),
                nn.Conv2d(6, 4, 1),
            )
            self.softmax = nn.Softmax(dim=1)  # cause: GS760

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            features, gather, share = (
                conv(x).flatten(2) for conv in (self.features, self.gather, self.share)
            )
            gathered = torch.bmm(features, self.softmax(gather).permute(0, 2, 1))  # effect: GS760
            mixed = torch.bmm(gathered, nn.functional.softmax(share, dim=1))
            return mixed.view_as(x)

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 1), nn.ReLU(), DoubleAttention(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        image = torch.randn(5, 3, 4, 4 + step % 2)
        loss = nn.functional.cross_entropy(model(image), torch.randint(0, 6, (5,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_linear_attention_over_the_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = (part.view(4, 6, 2, 4) for part in project(torch.randn(4, 6, 8)).chunk(3, dim=-1))
        q, k = q.softmax(dim=-1), k.softmax(dim=-1)  # cause: GS760
        context = torch.einsum("bnhd,bnhe->bhde", k, v)  # effect: GS760
        mixed = torch.einsum("bnhd,bhde->bnhe", q, context).flatten(2)
        loss = nn.functional.cross_entropy(head(mixed.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_linear_attention_divided() -> None:
    """Features that sum to one, as kernels, and a mean over the places by a division."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        q, k = q.softmax(dim=-1), k.softmax(dim=-1)
        total = (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
        mixed = (q @ (k.transpose(1, 2) @ v)) / total
        loss = nn.functional.cross_entropy(head(mixed.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_linear_attention_with_a_norm() -> None:
    """What was gathered has whatever size: a layer norm follows."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, norm, head = nn.Linear(8, 24), nn.LayerNorm(8), nn.Linear(8, 2)
    layers = nn.ModuleList([project, norm, head])
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        context = k.softmax(dim=-1).transpose(1, 2) @ v
        mixed = norm(q.softmax(dim=-1) @ context)
        loss = nn.functional.cross_entropy(head(mixed.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_clusters_handed_back() -> None:
    """Nodes are summed into clusters, and get their clusters' sums back by the same assignment."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    assign, embed, head = nn.Linear(6, 3), nn.Linear(6, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam(nn.ModuleList([assign, embed, head]).parameters(), lr=0.01)
    for _ in range(3):
        nodes = torch.randn(5, 9, 6)
        share = torch.softmax(assign(nodes), dim=-1)
        pooled = share.transpose(1, 2) @ embed(nodes)
        back = torch.softmax(assign(nodes), dim=-1) @ pooled
        loss = nn.functional.cross_entropy(head(back.mean(1)), torch.randint(0, 2, (5,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_written_and_read() -> None:
    """A memory of slots: each word is written to some of them, and each question reads a mean of all."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    write, value, read, head = nn.Linear(6, 5), nn.Linear(6, 8), nn.Linear(6, 5), nn.Linear(8, 3)
    opt = torch.optim.Adam(nn.ModuleList([write, value, read, head]).parameters(), lr=0.01)
    for _ in range(3):
        words, questions = torch.randn(4, 7, 6), torch.randn(4, 3, 6)
        memory = write(words).softmax(-1).transpose(1, 2) @ value(words)
        answers = head(read(questions).softmax(-1) @ memory)
        loss = nn.functional.cross_entropy(answers.flatten(0, 1), torch.randint(0, 3, (12,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_divided_by_the_sum_over_another_axis() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    head = nn.Linear(8, 3)
    opt = torch.optim.SGD([p for m in (query, key, value, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        residues = torch.randn(4, 6, 8)
        energy = torch.einsum("bid,bjd->bij", query(residues), key(residues)) / 8**0.5
        share = energy.exp()
        share = share / share.sum(dim=1, keepdim=True)  # cause: GS760
        scores = head(torch.einsum("bij,bjd->bid", share, value(residues)))  # effect: GS760
        opt.zero_grad()
        nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(0, 3, (24,))).backward()
        opt.step()


def good_divided_by_the_sum_over_the_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    head = nn.Linear(8, 3)
    opt = torch.optim.SGD([p for m in (query, key, value, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        residues = torch.randn(4, 6, 8)
        energy = torch.einsum("bid,bjd->bij", query(residues), key(residues)) / 8**0.5
        share = energy.exp()
        share = share / share.sum(dim=2, keepdim=True)
        scores = head(torch.einsum("bij,bjd->bid", share, value(residues)))
        opt.zero_grad()
        nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(0, 3, (24,))).backward()
        opt.step()


def good_divided_by_both_sums_in_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    head = nn.Linear(8, 3)
    opt = torch.optim.SGD([p for m in (query, key, value, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        residues = torch.randn(4, 6, 8)
        share = torch.einsum("bid,bjd->bij", query(residues), key(residues)).div(8**0.5).exp()
        for _ in range(5):
            share = share / share.sum(dim=2, keepdim=True)
            share = share / share.sum(dim=1, keepdim=True)
        scores = head(torch.einsum("bij,bjd->bid", share, value(residues)))
        opt.zero_grad()
        nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(0, 3, (24,))).backward()
        opt.step()


def bad_neighbours_masked_and_heads_normalised() -> None:
    """Attention between the nodes of a graph, with the heads along the last axis."""
    import torch
    from torch import nn

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.asks, self.told = nn.Linear(6, 12), nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            h = self.project(x).view(-1, 3, 4)
            scores = nn.functional.leaky_relu(self.asks(x)[:, None] + self.told(x)[None])
            scores = torch.where(edges.unsqueeze(-1), scores, torch.tensor(-1e9))
            weights = scores.softmax(-1)  # cause: GS760
            return (weights.unsqueeze(-1) * h).sum(dim=1).flatten(1)  # effect: GS760

    torch.manual_seed(0)
    layer, head = Attends(), nn.Linear(12, 3)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    x, labels = torch.randn(20, 6), torch.arange(20) % 3
    edges = (torch.rand(20, 20) < 0.2) | torch.eye(20, dtype=torch.bool)
    for _ in range(5):
        loss = nn.functional.cross_entropy(head(nn.functional.elu(layer(x, edges))), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_additive_mask_and_heads_in_front() -> None:
    """The same by a number that is added, and by matrices."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, asks, told, head = nn.Linear(6, 12), nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(12, 3)
    parts = (project, asks, told, head)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=0.01)
    x, labels = torch.randn(20, 6), torch.arange(20) % 3
    edges = (torch.rand(20, 20) < 0.2) | torch.eye(20, dtype=torch.bool)
    for _ in range(5):
        h = project(x).view(20, 3, 4).transpose(0, 1)
        scores = torch.tanh(asks(x).t()[:, :, None] + told(x).t()[:, None])
        scores = scores + (1 - edges.float()) * -1e6
        weights = torch.softmax(scores, dim=0)  # cause: GS760
        out = (weights @ h).transpose(0, 1).reshape(20, 12)  # effect: GS760
        loss = nn.functional.cross_entropy(head(out), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_neighbours_masked_and_normalised() -> None:
    import torch
    from torch import nn

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.asks, self.told = nn.Linear(6, 12), nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            h = self.project(x).view(-1, 3, 4)
            scores = nn.functional.leaky_relu(self.asks(x)[:, None] + self.told(x)[None])
            scores = torch.where(edges.unsqueeze(-1), scores, torch.tensor(-1e9))
            weights = scores.softmax(1)
            return torch.einsum("ijh,jhd->ihd", weights, h).flatten(1)

    torch.manual_seed(0)
    layer, head = Attends(), nn.Linear(12, 3)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    x, labels = torch.randn(20, 6), torch.arange(20) % 3
    edges = (torch.rand(20, 20) < 0.2) | torch.eye(20, dtype=torch.bool)
    for _ in range(5):
        loss = nn.functional.cross_entropy(head(nn.functional.elu(layer(x, edges))), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padded_places_in_clusters_and_capsules() -> None:
    """Places of padding are masked before they are shared out, and have no values; of the edges of a graph each chooses
    among kinds, and those that are none are taken out behind it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, score, votes, route, head = (
        nn.Linear(6, 8),
        nn.Linear(8, 4),
        nn.Linear(8, 4 * 5),
        nn.Linear(8, 4),
        nn.Linear(4 * 8 + 4 * 5, 3),
    )
    kinds, pair, last = nn.Linear(12, 4), nn.Linear(6, 4 * 5), nn.Linear(4 * 5, 3)
    parts = (embed, score, votes, route, head, kinds, pair, last)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=0.01)
    edges = (torch.rand(10, 10) < 0.3) | torch.eye(10, dtype=torch.bool)
    for _ in range(5):
        x, labels = torch.randn(16, 10, 6), torch.randint(0, 3, (16,))
        there = torch.arange(10) < torch.randint(4, 11, (16, 1))
        h = embed(x) * there.unsqueeze(-1)
        shares = score(h).masked_fill(~there.unsqueeze(-1), -1e9).softmax(-1)
        clusters = torch.einsum("btk,btd->bkd", shares, h).flatten(1)
        sent = votes(h).view(16, 10, 4, 5) * there[..., None, None]
        routes = route(h).masked_fill(~there.unsqueeze(-1), -1e9).softmax(-1)
        capsules = torch.einsum("btk,btkd->bkd", routes, sent).flatten(1)
        loss = nn.functional.cross_entropy(head(torch.cat([clusters, capsules], 1)), labels)
        nodes = x[0]
        pairs = torch.cat([nodes[:, None].expand(10, 10, 6), nodes[None].expand(10, 10, 6)], -1)
        chosen = kinds(pairs).masked_fill(~edges.unsqueeze(-1), -1e9).softmax(-1) * edges.unsqueeze(-1)
        got = torch.einsum("ijk,jkd->ikd", chosen, pair(nodes).view(10, 4, 5)).flatten(1)
        loss = loss + nn.functional.cross_entropy(last(got), torch.arange(10) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()
