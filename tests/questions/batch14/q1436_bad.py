import torch
import torch.nn as nn
import torch.nn.functional as F

DOCS, FEATURES, GAMMA, SYNC = 6, 5, 0.98, 40


class DQNAgent:
    def __init__(self):
        self.model = self.network()
        self.target_model = self.network()
        self.target_model.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.updates = 0

    def network(self):
        return nn.Sequential(nn.Linear(FEATURES + 1, 48), nn.ReLU(), nn.Linear(48, 1))

    def get_action(self, documents, open_docs, rank, epsilon, generator):
        if torch.rand(1, generator=generator).item() < epsilon:
            return int(torch.multinomial(open_docs.float(), 1, generator=generator))
        with torch.no_grad():
            scores = self.model(inputs(documents, rank)).squeeze(-1)
        return int(scores.masked_fill(~open_docs, -1e9).argmax())

    def compute_loss(self, chosen, rank, reward, documents, open_docs, done):
        curr_Q = self.model(torch.cat([chosen, rank.unsqueeze(1) / DOCS], 1)).squeeze(1)
        with torch.no_grad():
            next_Q = self.model(inputs(documents, rank + 1)).squeeze(-1)
        max_next_Q = next_Q.masked_fill(~open_docs, -1e9).max(dim=1).values
        expected_Q = reward + torch.where(done, torch.zeros(()), GAMMA * max_next_Q)
        return F.mse_loss(curr_Q, expected_Q)

    def update(self, batch):
        loss = self.compute_loss(*batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % SYNC == 0:
            self.target_model.load_state_dict(self.model.state_dict())
        return loss.item()


def inputs(documents, rank):
    rank = torch.as_tensor(rank, dtype=torch.float32).expand(documents.shape[:-2])
    place = (rank / DOCS)[..., None, None].expand(*documents.shape[:-1], 1)
    return torch.cat([documents, place], -1)


def relevance(documents):
    return (3 * torch.sigmoid(2 * documents[..., 0] - documents[..., 1])).round()


def rank_query(agent, documents, epsilon, generator, memory=None):
    open_docs, dcg = torch.ones(DOCS, dtype=torch.bool), 0.0
    for rank in range(DOCS):
        action = agent.get_action(documents, open_docs, rank, epsilon, generator)
        reward = relevance(documents[action]) / torch.log2(torch.tensor(rank + 2.0))
        open_docs = open_docs.clone()
        open_docs[action] = False
        dcg += reward.item()
        if memory is not None:
            done = torch.tensor(rank == DOCS - 1)
            memory.append((documents[action], torch.tensor(float(rank)), reward, documents, open_docs, done))
    return dcg


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    agent, memory, jumps = DQNAgent(), [], []
    probe = torch.randn(50, DOCS, FEATURES, generator=generator)
    before = None
    for query in range(100):
        rank_query(agent, torch.randn(DOCS, FEATURES, generator=generator), 0.3, generator, memory)
        for _ in range(4):
            picks = torch.randint(0, len(memory), (32,), generator=generator).tolist()
            loss = agent.update([torch.stack(part) for part in zip(*(memory[i] for i in picks))])
            with torch.no_grad():
                values = agent.model(inputs(probe, 0)).squeeze(-1)
                held = agent.target_model(inputs(probe, 0)).squeeze(-1)
            if before is not None:
                jumps.append((values - before).abs().mean().item())
            before = values
        if query % 20 == 19:
            got = sum(rank_query(agent, d, 0.0, generator) for d in probe)
            order = relevance(probe).sort(dim=1, descending=True).values
            best = (order / torch.log2(torch.arange(DOCS) + 2.0)).sum().item()
            print(f"query {query}: loss {loss:.3f} ndcg {got / best:.3f} largest Q {values.max().item():.2f}")
    print(f"best return {best / 50:.2f}, Q now / of the target: {values.mean():.2f} / {held.mean():.2f}")


if __name__ == "__main__":
    main()
