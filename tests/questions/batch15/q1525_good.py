import copy

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, PAD, WIDTH = 24, 0, 48


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH, padding_idx=PAD)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def make_pairs(count):
    start = torch.randint(1, 12, (count, 1))
    lens = torch.randint(4, 8, (count,))
    steps = torch.arange(14)
    counting = 1 + (start - 1 + steps) % 12
    inside = steps < lens[:, None]
    chosen = torch.where(inside, counting, 13 + (start + steps) % 6)
    rejected = torch.where(inside, counting, 19 + (start + steps) % 5)
    return chosen, rejected, lens.tolist()


def get_batch_logps(logits, ids, attention_mask, prompt_id_lens):
    labels = ids[:, 1:].clone()
    logits = logits[:, :-1]
    loss_masks = attention_mask.clone().bool()
    for mask, source_len in zip(loss_masks, prompt_id_lens * 2):
        mask[:source_len] = False
    loss_masks = loss_masks[:, 1:]
    per_token = logits.log_softmax(-1).gather(2, labels.unsqueeze(2)).squeeze(2)
    return (per_token * loss_masks).sum(-1)


def concatenated_forward(model, chosen, rejected, prompt_id_lens):
    ids = torch.cat([chosen, rejected])
    all_logps = get_batch_logps(model(ids), ids, ids != PAD, prompt_id_lens)
    return all_logps.chunk(2)


def prompt_logp(model, ids, lens):
    with torch.no_grad():
        logp = model(ids)[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    inside = torch.arange(1, ids.shape[1]) < torch.tensor(lens)[:, None]
    return (logp[inside].mean()).item()


def main():
    torch.manual_seed(0)
    model = TinyLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(140):
        chosen, rejected, _ = make_pairs(64)
        ids = torch.cat([chosen, rejected])
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ref = copy.deepcopy(model).eval().requires_grad_(False)
    test, _, test_lens = make_pairs(256)
    print(
        f"after SFT: loss {loss.item():.3f}  logp per prompt token {prompt_logp(model, test, test_lens):.3f}"
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(80):
        chosen, rejected, lens = make_pairs(64)
        policy_chosen, policy_rejected = concatenated_forward(model, chosen, rejected, lens)
        with torch.no_grad():
            ref_chosen, ref_rejected = concatenated_forward(ref, chosen, rejected, lens)
        logits = (policy_chosen - policy_rejected) - (ref_chosen - ref_rejected)
        loss = -F.logsigmoid(0.1 * logits).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            reward = 0.1 * (policy_rejected - ref_rejected).mean().item()
            prompt = prompt_logp(model, test, test_lens)
            print(
                f"dpo {step + 1}: loss {loss.item():.3f}  reject reward {reward:.2f}  logp per prompt token {prompt:.3f}"
            )


if __name__ == "__main__":
    main()
